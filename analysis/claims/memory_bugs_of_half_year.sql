-- How many patched memory bugs were reported in one half of a year, given by its first and its last day?
SELECT count(*) AS k
FROM study_patched p JOIN study_labels t USING (repo, number)
WHERE t.scheme = 'bug_type' AND t.value = 'memory'
  AND p.created_at >= CAST($first AS TIMESTAMP) AND p.created_at < CAST($last AS TIMESTAMP) + INTERVAL 1 DAY;
