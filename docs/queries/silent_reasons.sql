-- Issues of the census by area: what could be decided, and why the others could not.
SELECT area, count(*) AS issues, count(*) FILTER (newest <> '') AS decided, count(*) FILTER (newest = 'occurs') AS occur,
  count(*) FILTER (newest = 'absent') AS gone,
  array_to_string(list_sort(list(DISTINCT "by") FILTER (newest IS NULL OR newest = '')), ', ') AS "why not the others"
FROM read_csv('analysis/results/census_2026.csv', types = {'number': 'INT', 'first_bad': 'VARCHAR'}, nullstr = 'NULL')
GROUP BY ALL ORDER BY issues DESC, area
