-- Entries of one kind on the newest release by test and state.
SELECT test AS "`test`", count(*) AS entries, count(*) FILTER (state = 'still fails') AS "still fails", count(*) FILTER (state = 'passes') AS passes,
  count(*) FILTER (state = 'crashes') AS crashes, count(*) FILTER (state = 'nothing to test') AS "nothing to test",
  count(*) FILTER (state = 'cannot decide') AS "cannot decide",
  CASE WHEN $kind = 'expectedFailure' THEN coalesce(list_sort(list(DISTINCT operator) FILTER (state = 'passes')), []) END AS "`those that pass`"
FROM skips WHERE is_newest AND operator <> '' AND kind = $kind GROUP BY test ORDER BY entries DESC, test
