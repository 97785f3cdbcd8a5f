-- What the newest reader answered of each case beside an item, what earlier ones did, and why the item was closed.
SELECT r."case" AS "`case`", r.repo || '#' || r.number AS item, r.answer,
  (SELECT string_agg(e.answer || ' (' || e.read_on || ')', '; ' ORDER BY e.line) FROM readings e
   WHERE e."case" = r."case" AND e.repo = r.repo AND e.number = r.number AND NOT e.is_newest) AS earlier,
  r.relation, r.reason AS "what the report claims and what the case does", r.other_cause AS "other ways to fail",
  c.why AS "closed as"
FROM readings r LEFT JOIN closing c USING (repo, number) WHERE r.is_newest ORDER BY r."case", r.number
