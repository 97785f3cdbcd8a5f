-- Where the reporters' own scripts fail, and where our case of the same input occurs.
WITH script AS (FROM read_csv('analysis/results/reported.csv', types = {'release': 'VARCHAR'})),
own AS (
  SELECT number AS issue, min(cases.name) AS "case" FROM case_items JOIN cases USING (case_hash)
  WHERE relation = 'same' AND repo = 'pytorch/pytorch' GROUP BY number
)
SELECT '#' || s.issue AS issue, spans(list(release) FILTER (outcome = 'reproduced'), list(release)) AS "the reporter's script fails on",
  any_value(own."case") AS "`our case`", spans(list(release) FILTER (verdict = 'occurs'), list(release)) AS "it occurs on",
  count(*) FILTER (compared AND (outcome = 'reproduced') = (verdict = 'occurs')) || ' of ' || count(*) FILTER (compared) AS "releases that agree"
FROM (SELECT s.*, o."case", m.verdict, outcome <> 'untestable' AND m.verdict IN ('occurs', 'absent') AS compared
      FROM script s LEFT JOIN own o USING (issue) LEFT JOIN matrix m ON m."case" = o."case" AND m.build = s.release) s
  LEFT JOIN own USING (issue)
GROUP BY s.issue ORDER BY s.issue
