-- Which issues of the census occur on the newest release, the youngest bug first?
SELECT '#' || number AS issue, area, first_bad AS "first release with it",
  CASE clean_before WHEN 'yes' THEN 'clean before' ELSE 'no older one was decided' END AS before,
  CASE regression WHEN 'yes' THEN 'yes' END AS "new in the newest", state, "by" AS "shown by"
FROM read_csv('analysis/results/census_2026.csv', types = {'number': 'INT', 'first_bad': 'VARCHAR'})
WHERE newest = 'occurs'
ORDER BY regression = 'yes' DESC, number DESC
