-- What the newest reader answered of each case beside an item, what earlier ones did, and why the item was closed.
SELECT r."case" AS "`case`", 'pytorch/pytorch#' || r.number AS item, r.answer,
  (SELECT string_agg(e.answer || ' (' || e.day || ')', '; ' ORDER BY e.day, e.reader) FROM case_readings e
   WHERE e."case" = r."case" AND e.number = r.number AND NOT e.is_newest) AS earlier,
  r.relation, r.reason AS "what the report claims and what the case does", nullif(r.doubt, '') AS "other ways to fail",
  c.why AS "closed as"
FROM case_readings r LEFT JOIN closing c USING (number) WHERE r.is_newest ORDER BY r."case", r.number
