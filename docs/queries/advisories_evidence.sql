-- Every executed advisory: what it is about, and the verdicts of its case.
WITH advisory AS (SELECT unnest(advisory, recursive := true) FROM 'advisories.json'),
run AS (FROM sweep SEMI JOIN advisory USING ("case")),
ran AS (SELECT "case", list(DISTINCT build) AS builds FROM run GROUP BY "case")
SELECT a.id, summary || ' Also: ' || array_to_string(aliases, ', ') || '. The case, ' || a."case" || ': ' || relation || ' Upstream: ' || upstream AS about,
  verdict, spans(list(build), any_value(builds)) AS releases, string_agg(DISTINCT k || '/' || n, ', ' ORDER BY k || '/' || n) AS "hits/runs",
  string_agg(DISTINCT control, ', ' ORDER BY control) AS control, string_agg(DISTINCT run.seen, '; ' ORDER BY run.seen) AS seen
FROM advisory a JOIN run USING ("case") JOIN ran USING ("case") GROUP BY a.id, about, verdict ORDER BY a.id, verdict
