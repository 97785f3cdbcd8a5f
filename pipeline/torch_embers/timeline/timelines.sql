-- What the timelines of some items are derived from: one row per item with a script, with its texts and what is known of its fix.
WITH wanted AS (
  SELECT repo, number, script, coalesce(device, '') AS device FROM scripts
  WHERE script IN (SELECT script FROM observations) AND ($numbers IS NULL OR list_contains($numbers, repo || '#' || number))
), named AS (  -- the first release of the last commit that fixes it
  SELECT t.repo, t.issue AS number, arg_max(t.first_release, t.committed_at) AS release
  FROM (SELECT repo, unnest(issues)::BIGINT AS issue, first_release, committed_at FROM fix_tests
        WHERE first_release_by IN ('tag', 'picked', 'branch_cut') AND reason IS DISTINCT FROM 'reverted') t
  SEMI JOIN wanted w ON w.repo = t.repo AND w.number = t.issue GROUP BY ALL
)
SELECT w.repo, w.number, w.script, w.device, coalesce(i.title, ''), coalesce(i.body, ''),
  coalesce((SELECT list(coalesce(c.body, '') ORDER BY c.created_at, c.comment_id) FROM comments c
            WHERE c.repo = w.repo AND c.number = w.number), []),
  n.release, (SELECT flatten(list(k.fixed_versions)) FROM catalog k WHERE k.repo = w.repo AND k.number = w.number)
FROM wanted w
LEFT JOIN items i USING (repo, number)
LEFT JOIN named n USING (repo, number)
ORDER BY w.repo, w.number;
