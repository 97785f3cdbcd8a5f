-- Closed issues by why they were closed, and how many of them have a case.
SELECT coalesce(disposition, 'all') AS "`disposition`", count(*) AS issues,
  count(*) FILTER ((repo, number) IN (SELECT (repo, number) FROM case_items)) AS "with a case"
FROM dispositions GROUP BY ROLLUP (disposition) ORDER BY disposition IS NULL, issues DESC, disposition
