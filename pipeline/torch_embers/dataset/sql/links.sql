-- What is connected with what, and how is it known? Equal statements in several places are one row.
SELECT
    repo, number, sha, relation, target_repo, target_number, target_sha, evidence, found_in, rule,
    count(*)::INTEGER AS places, min(stated_at) AS stated_at
FROM links l
WHERE NOT EXISTS (FROM gone g WHERE g.repo = l.repo AND g.number = l.number)
  AND NOT EXISTS (FROM gone g WHERE g.repo = l.target_repo AND g.number = l.target_number)
GROUP BY ALL
ORDER BY ALL
