-- Issues drawn at random by class and sample.
WITH label AS (SELECT sample, key, unnest(labels) AS label FROM read_json('data/wild_labels.jsonl', format = 'newline_delimited') WHERE kind = 'issue')
SELECT label[1] AS "`scheme`", label[2] AS "`class`", count(*) FILTER (NOT sample LIKE '%\_again' ESCAPE '\') AS "first draw",
  count(*) FILTER (sample LIKE '%\_again' ESCAPE '\' AND sample NOT LIKE 'targeted%') AS "second draw", count(*) FILTER (sample LIKE 'targeted%') AS targeted
FROM label GROUP BY ALL ORDER BY 1, count(*) DESC
