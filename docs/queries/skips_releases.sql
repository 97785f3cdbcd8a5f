-- Entries of the skip ledger by release and state: expected failures, then skips, then those of tests without an oracle.
SELECT build AS release, count(*) FILTER (kind = 'expectedFailure' AND state = 'still fails') AS "expected failures that fail",
  count(*) FILTER (kind = 'expectedFailure' AND state = 'passes') AS "that pass",
  count(*) FILTER (kind = 'skip' AND state = 'still fails') AS "skips that fail",
  count(*) FILTER (kind = 'skip' AND state = 'passes') AS "skips that pass",
  count(*) FILTER (state = 'crashes') AS crashes, count(*) FILTER (state = 'nothing to test') AS "nothing to test",
  sum(CASE WHEN state <> 'cannot decide' THEN 0 WHEN operator <> '' THEN 1 ELSE n END)::INT AS "cannot decide"
FROM skips GROUP BY build, place ORDER BY place
