-- The population: every commit of the main line since the study's first day, each with its place in time. A commit
-- of the main line is a merge: a pull request that landed, an import from Meta's repository, or a direct push.
-- Temporary table census_parts (path, component, subcomponent, strict) holds the part of each path by data/components.toml.
CREATE OR REPLACE TEMP TABLE census_merges AS
SELECT repo, lower(sha) AS sha, committed_at, pull_number, year(committed_at) AS year,
       CASE WHEN month(committed_at) <= 6 THEN 1 ELSE 2 END AS half
FROM commits WHERE repo = $repo AND line = 'main' AND committed_at >= $first;

CREATE OR REPLACE TEMP TABLE census_touched AS
SELECT DISTINCT f.sha, p.component, p.subcomponent, p.strict
FROM commit_files f SEMI JOIN census_merges USING (repo, sha) JOIN census_parts p USING (path);

-- A patch: a merge whose message says that it repairs an issue. A number that landed itself is a pull request, no issue.
CREATE OR REPLACE TEMP TABLE census_patches AS
SELECT DISTINCT m.sha, m.committed_at, m.year, m.half, l.target_number AS issue
FROM links l JOIN census_merges m ON m.repo = l.repo AND m.sha = lower(l.sha)
WHERE l.relation = 'fixes' AND l.evidence = 'commit' AND l.target_repo = l.repo AND l.target_number IS NOT NULL
  AND NOT EXISTS (FROM items i WHERE i.repo = l.repo AND i.number = l.target_number AND i.kind = 'pull');

-- A merge that a later one takes out: the commit that is named, or the newest landing of the pull request that is named.
CREATE OR REPLACE TEMP TABLE census_turns AS
WITH stated AS (
    SELECT DISTINCT m.sha, m.committed_at, l.target_number, lower(l.target_sha) AS target_sha
    FROM links l JOIN census_merges m ON m.repo = l.repo AND m.sha = lower(l.sha)
    WHERE l.relation IN ('reverts', 'backs_out') AND l.evidence = 'commit' AND l.target_repo = l.repo
)
SELECT DISTINCT sha, committed_at, target, target_at FROM (
    SELECT s.sha, s.committed_at, t.sha AS target, t.committed_at AS target_at
    FROM stated s JOIN census_merges t
      ON left(t.sha, 7) = left(s.target_sha, 7) AND starts_with(t.sha, s.target_sha) AND t.committed_at < s.committed_at
    UNION ALL
    SELECT s.sha, s.committed_at, arg_max(t.sha, t.committed_at), max(t.committed_at)
    FROM stated s JOIN census_merges t ON t.pull_number = s.target_number AND t.committed_at < s.committed_at
    WHERE s.target_sha IS NULL GROUP BY ALL
);

CREATE OR REPLACE TEMP TABLE census_reverted AS
SELECT target AS sha, min(target_at) AS merged_at, min(committed_at) AS reverted_at FROM census_turns GROUP BY target;
