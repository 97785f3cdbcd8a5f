-- What became of the drawn fixes?
SELECT (SELECT count(*) FROM 'analysis/results/fixed_in_list.csv') AS listed,
  (SELECT count(draw) FROM 'analysis/results/fixed_in_list.csv') AS drawable,
  count(*) AS drawn, count(script) AS scripts, count(*) FILTER (outcome <> 'cannot') AS decided,
  (SELECT string_agg(decidable || ' ' || n, ', ' ORDER BY n DESC, decidable)
   FROM (SELECT decidable, count(*) AS n FROM 'analysis/results/fixed_in.csv' WHERE script IS NULL GROUP BY ALL)) AS others
FROM 'analysis/results/fixed_in.csv'
