-- Issues that took more than one fix.
SELECT target_number AS issue, list(DISTINCT number ORDER BY number) AS fixed_by
FROM links
WHERE relation = 'fixes'
GROUP BY target_repo, target_number
HAVING count(DISTINCT number) > 1
ORDER BY issue DESC
LIMIT 5
