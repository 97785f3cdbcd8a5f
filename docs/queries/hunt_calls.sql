-- Calls of the hunt on 2.15.0, in float32, by mode, or by the layout of an argument or of a destination.
SELECT CASE $by WHEN 'mode' THEN build || ' ' || mode ELSE layout END AS "`calls`", count(DISTINCT op) AS operators, sum(tested)::INT AS tested,
  sum(guarded)::INT AS guarded, sum(wrong)::INT AS wrong, sum(outside)::INT AS outside, sum(died)::INT AS died,
  sum(refused)::INT AS refused, sum(undecided)::INT AS undecided
FROM 'analysis/results/hunt_coverage.parquet'
WHERE mode <> '' AND ($by = 'mode' OR (argument LIKE 'destination%') = ($by = 'destination'))
GROUP BY 1 ORDER BY tested DESC, 1
