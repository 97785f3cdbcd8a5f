-- On which releases each finding of the hunt with a case occurs.
WITH known AS (SELECT unnest(known, recursive := true) FROM 'hunt.json'), draft AS (SELECT unnest(draft, recursive := true) FROM 'hunt_drafts.json'),
judged AS (
  SELECT unnest(cases) AS "case", judged FROM known
  UNION SELECT unnest(list_append(coalesce(also, []), "case")), 'new' FROM draft
)
SELECT "case" AS "`case`", replace(min(judged), '_', ' ') AS judged,
  spans(list(build) FILTER (verdict = 'occurs'), (SELECT list(build) FROM releases)) AS "occurs on",
  spans(list(build) FILTER (verdict = 'absent'), (SELECT list(build) FROM releases)) AS "does not occur on",
  spans(list(build) FILTER (verdict = 'untestable'), (SELECT list(build) FROM releases)) AS "cannot be tested on"
FROM judged JOIN matrix USING ("case") GROUP BY "case" ORDER BY "case"
