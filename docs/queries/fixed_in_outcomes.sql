-- What do the scripts of drawn bug fixes say?
SELECT outcome, count(*) AS fixes, percent(fixes::INT, (sum(count(*)) OVER ())::INT) AS "share of the decided"
FROM 'analysis/results/fixed_in.csv' WHERE outcome <> 'cannot' GROUP BY ALL ORDER BY fixes DESC, outcome
