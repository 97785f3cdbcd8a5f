-- What is called wrong, by operator: writes outside memory first, then those that end the process.
SELECT operator AS "`called`", mode, string_agg(DISTINCT layout, ', ' ORDER BY layout) AS layouts, sum(outside)::INT AS outside,
  sum(died)::INT AS died, sum(wrong)::INT AS wrong
FROM 'analysis/results/hunt_coverage.parquet' WHERE wrong + outside + died > 0 GROUP BY operator, mode
ORDER BY sum(outside) > 0 DESC, sum(died) > 0 DESC, operator, mode
