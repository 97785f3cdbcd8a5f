-- Calls of the hunt on 2.15.0, in float32, by mode.
SELECT mode AS "`calls`", count(DISTINCT op) AS operators, sum(tested)::INT AS tested,
  sum(guarded)::INT AS guarded, sum(wrong)::INT AS wrong, sum(outside)::INT AS outside, sum(died)::INT AS died,
  sum(refused)::INT AS refused, sum(undecided)::INT AS undecided
FROM 'analysis/results/hunt_coverage.parquet' WHERE mode <> '' GROUP BY 1 ORDER BY tested DESC, 1
