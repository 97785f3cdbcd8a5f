-- What PyTorch's own test does with the operators, and what the hunt found in each group.
WITH one AS (
  SELECT op, own, sum(tested) AS tested, sum(wrong + outside + died) > 0 AS bad
  FROM 'analysis/results/hunt_coverage.parquet' WHERE own <> 'absent' GROUP BY ALL
)
SELECT own AS "`test_noncontiguous_samples`", count(*) AS operators, sum(tested)::INT AS "calls of the hunt",
  count(*) FILTER (bad) AS "operators with a wrong call"
FROM one GROUP BY own ORDER BY operators DESC, own
