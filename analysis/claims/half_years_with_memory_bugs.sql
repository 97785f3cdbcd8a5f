-- In how many half years from 2020 to the first of 2024, that of early 2022 left out, was at least one patched memory bug reported?
SELECT count(DISTINCT year(p.created_at) * 2 + (month(p.created_at) > 6)::INTEGER) AS k
FROM study_patched p JOIN study_labels t USING (repo, number)
WHERE t.scheme = 'bug_type' AND t.value = 'memory' AND p.created_at >= TIMESTAMP '2020-01-01'
  AND p.created_at < TIMESTAMP '2024-07-01'
  AND NOT (p.created_at >= TIMESTAMP '2022-01-01' AND p.created_at < TIMESTAMP '2022-07-01');
