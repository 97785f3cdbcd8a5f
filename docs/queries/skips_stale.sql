-- Skips that pass on the newest release, by test, with the oldest release from which on they pass, without the arithmetic ones of test_numpy_refs.
SELECT operator AS "`operator`", test AS "`test`", dtypes, k || ' of ' || n AS passes, since AS "passes on each release from", cites AS "cites (issue, state)"
FROM skips_newest WHERE kind = 'skip' AND state = 'passes' AND (test = 'test_numpy_refs') = $numpy
ORDER BY test, operator, dtypes
