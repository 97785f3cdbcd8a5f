-- Single numbers of the census: k of n where n says of what it is a share.
WITH plain AS ( -- merges that take nothing out themselves
    SELECT m.sha FROM census_merges m ANTI JOIN census_turns t USING (sha)
), touched AS (
    SELECT sha, bool_or(component = 'data_path') AS wide, bool_or(component = 'data_path' AND strict) AS strict,
           bool_or(component = 'computation') AS computation
    FROM census_touched GROUP BY sha
), patches AS (
    SELECT p.sha, p.issue, coalesce(t.wide, false) AS wide, coalesce(t.strict, false) AS strict,
           coalesce(t.computation, false) AS computation
    FROM census_patches p LEFT JOIN touched t USING (sha)
)
SELECT 'merges' AS measure, count(*) AS k, NULL::BIGINT AS n FROM census_merges
UNION ALL SELECT 'pull requests that landed', count(DISTINCT pull_number), NULL FROM census_merges
UNION ALL SELECT 'patches: merges that name an issue as repaired', count(DISTINCT sha), (SELECT count(*) FROM census_merges) FROM patches
UNION ALL SELECT 'issues with a patch', count(DISTINCT issue), NULL FROM patches
UNION ALL SELECT 'issues with a patch in the data path', count(DISTINCT issue) FILTER (WHERE wide), count(DISTINCT issue) FROM patches
UNION ALL SELECT 'issues with a patch in the strict data path', count(DISTINCT issue) FILTER (WHERE strict), count(DISTINCT issue) FROM patches
UNION ALL SELECT 'issues with a patch in computation', count(DISTINCT issue) FILTER (WHERE computation), count(DISTINCT issue) FROM patches
UNION ALL SELECT 'patches of the data path among patches of either', count(DISTINCT sha) FILTER (WHERE wide AND NOT computation),
                 count(DISTINCT sha) FILTER (WHERE wide <> computation) FROM patches
UNION ALL SELECT 'patches of the strict data path among patches of either', count(DISTINCT sha) FILTER (WHERE strict AND NOT computation),
                 count(DISTINCT sha) FILTER (WHERE strict <> computation) FROM patches
UNION ALL SELECT 'merges that were reverted', count(r.sha), count(*) FROM plain LEFT JOIN census_reverted r USING (sha)
UNION ALL SELECT 'patches that were reverted', count(DISTINCT r.sha), count(DISTINCT p.sha) FROM patches p LEFT JOIN census_reverted r USING (sha)
UNION ALL SELECT 'merges in the data path that were reverted', count(r.sha), count(*)
          FROM plain JOIN touched t USING (sha) LEFT JOIN census_reverted r USING (sha) WHERE t.wide
UNION ALL SELECT 'reverted pull requests that landed again', count(DISTINCT m.pull_number) FILTER (WHERE EXISTS (
                     FROM census_merges a WHERE a.pull_number = m.pull_number AND a.committed_at > r.reverted_at)
                     OR EXISTS (FROM links l JOIN census_merges a ON a.repo = l.repo AND a.sha = lower(l.sha)
                                WHERE l.relation = 'relands' AND l.target_number = m.pull_number AND a.committed_at > r.reverted_at)),
                 count(DISTINCT m.pull_number)
          FROM census_reverted r JOIN census_merges m USING (sha) WHERE m.pull_number IS NOT NULL;
