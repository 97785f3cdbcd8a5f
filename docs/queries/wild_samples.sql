-- Items drawn at random, by sample and by what is done with them; pull requests are left out of the counts.
SELECT sample AS "`sample`", count(*) AS drawn, count(*) FILTER (kind = 'issue') AS issues,
  count(*) FILTER (kind = 'issue' AND part = 'development') AS development, count(*) FILTER (kind = 'issue' AND part = 'test') AS test,
  count(*) FILTER (kind = 'issue' AND part = 'recent') AS recent, count(*) FILTER (kind = 'issue' AND adjudicated) AS "decided anew"
FROM read_json('data/wild_labels.jsonl', format = 'newline_delimited') GROUP BY sample ORDER BY min(created_at), sample
