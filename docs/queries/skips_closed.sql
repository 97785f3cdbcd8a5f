-- Entries of the newest release that still fail though an issue that they cite is closed.
SELECT operator AS "`operator`", test AS "`test`", kind, what AS "what happens", since AS "fails since", cites AS "cites (issue, state)"
FROM skips_newest WHERE state IN ('still fails', 'crashes') AND has_closed ORDER BY test, operator
