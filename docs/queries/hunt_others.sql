-- Calls of the hunt on other releases and with other dtypes, by mode.
SELECT build, dtype AS "`dtype`", mode AS "`mode`", count(DISTINCT op) AS operators, sum(tested)::INT AS tested, sum(guarded)::INT AS guarded,
  sum(wrong)::INT AS wrong, sum(outside)::INT AS outside, sum(died)::INT AS died, sum(refused)::INT AS refused,
  sum(undecided)::INT AS undecided
FROM 'analysis/results/hunt_coverage_others.parquet'
WHERE mode NOT IN ('', 'samples') GROUP BY ALL ORDER BY build DESC, dtype, mode
