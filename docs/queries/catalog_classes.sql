-- Entries of the catalog by class and annotator.
SELECT scheme AS "`scheme`", value AS "`class`", count(DISTINCT number) FILTER (annotator = 'embers-guide-1') AS "embers-guide-1 (a program)",
  count(DISTINCT number) FILTER (annotator = 'data-path-study') AS "data-path-study (the paper)"
FROM gold_labels GROUP BY ALL ORDER BY scheme, 3 DESC, value
