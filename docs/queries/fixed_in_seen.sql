-- Of the bugs that scripts show on the release before: how many are gone, by the release that names the fix?
SELECT release AS "named in", count(*) AS "seen before", count(*) FILTER (named = 'good') AS "gone there",
  count(*) FILTER (newest = 'good') AS "gone on the newest"
FROM 'analysis/results/fixed_in.csv' WHERE before = 'bad' AND outcome <> 'cannot'
GROUP BY release ORDER BY [part::INT FOR part IN string_split(release, '.')]
