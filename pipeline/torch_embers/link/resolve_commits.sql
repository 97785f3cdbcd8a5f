-- Which pull request does a linked commit belong to? By the clone's commits and by merge commits; a short hash must be unique.
CREATE OR REPLACE TEMP TABLE landed AS
SELECT repo, lower(sha) AS sha, min(number) AS number
FROM (SELECT repo, sha, pull_number AS number FROM commits WHERE pull_number IS NOT NULL
      UNION ALL SELECT repo, merge_sha, number FROM items WHERE merge_sha IS NOT NULL AND kind = 'pull')
GROUP BY ALL HAVING count(DISTINCT number) = 1;

-- Each time for every hash: a number that was found by one goes, or becomes another, with the place of its commit.
CREATE OR REPLACE TEMP TABLE resolved AS
SELECT w.target_repo, w.target_sha, CASE WHEN count(DISTINCT c.sha) = 1 THEN min(c.number) END AS number
FROM (SELECT DISTINCT target_repo, target_sha FROM links WHERE target_sha IS NOT NULL) w
LEFT JOIN landed c ON c.repo = w.target_repo AND left(c.sha, 7) = left(w.target_sha, 7) AND starts_with(c.sha, w.target_sha)
GROUP BY ALL;

-- reverted_commits.sql gave these two rules the numbers of today
UPDATE links SET target_number = resolved.number FROM resolved
WHERE links.target_repo = resolved.target_repo AND links.target_sha = resolved.target_sha
  AND links.target_number IS DISTINCT FROM resolved.number
  AND (links.target_number IS NULL OR links.rule IS NULL OR links.rule NOT IN ('same-title', 'original-changeset'));

-- An item never links to itself. What its texts said by hash is noted, as these are read again when the commit is another item's.
INSERT INTO link_scans
SELECT DISTINCT repo, CASE found_in WHEN 'comment' THEN 'own comment' ELSE 'own item' END, found_id, target_sha
FROM links WHERE number = target_number AND repo = target_repo AND evidence = 'text' AND target_sha IS NOT NULL;

DELETE FROM links WHERE number IS NOT NULL AND number = target_number AND repo = target_repo;
DROP TABLE resolved;
DROP TABLE landed;
