-- The questions of data/judgements.jsonl, with how many answers of how many readers there are; nobody gave the answer `not_read`.
SELECT q.name AS "`question`", q.of AS "`about`", q.asks, q.answers AS "`answers`", count(j.subject) AS rows,
  count(*) FILTER (j.blind) AS blind, count(DISTINCT j.reader) FILTER (j.answer <> 'not_read') AS readers
FROM (SELECT unnest(question, recursive := true) FROM 'judgements.json') q
  LEFT JOIN judgements j ON split_part(j.question, ':', 1) = q.name
GROUP BY ALL ORDER BY rows DESC, q.name
