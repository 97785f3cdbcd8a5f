-- Issues of the census by area: what could be decided, and why the others could not.
SELECT area, count(*) AS issues, count(*) FILTER (newest <> '' AND "by" <> 'another_input') AS decided, count(*) FILTER (newest = 'occurs' AND "by" <> 'another_input') AS occur,
  count(*) FILTER (newest = 'absent' AND "by" <> 'another_input') AS gone,
  array_to_string(list_sort(list(DISTINCT "by") FILTER (newest IS NULL OR newest = '' OR "by" = 'another_input')), ', ') AS "why not the others"
FROM read_csv('analysis/results/census_2026.csv', types = {'number': 'INT', 'first_bad': 'VARCHAR'}, nullstr = 'NULL')
GROUP BY ALL ORDER BY issues DESC, area
