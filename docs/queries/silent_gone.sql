-- Which open issues of the census no longer occur on the newest release?
SELECT '#' || number AS issue, area, "by" AS "shown by", closable
FROM read_csv('analysis/results/census_2026.csv', types = {'number': 'INT', 'first_bad': 'VARCHAR'})
WHERE newest = 'absent' AND state = 'open'
ORDER BY number DESC
