-- The skip ledger of the newest release in one row.
SELECT any_value(build) AS build, count(*) FILTER (operator <> '') AS decided, sum(CASE WHEN operator <> '' THEN 1 ELSE n END)::INT AS entries,
  count(*) FILTER (kind = 'skip' AND state = 'passes') AS stale,
  count(*) FILTER (kind = 'skip' AND state = 'passes' AND test = 'test_numpy_refs') AS stale_numpy,
  count(*) FILTER (kind = 'skip' AND state = 'still fails') AS failing_skips,
  count(*) FILTER (kind = 'expectedFailure' AND state = 'still fails') AS failing,
  count(*) FILTER (kind = 'expectedFailure' AND state = 'passes') AS blind
FROM skips WHERE is_newest
