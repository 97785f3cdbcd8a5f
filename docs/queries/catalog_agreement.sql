-- Entries that both annotators labelled, and for how many they chose a class in common.
WITH one AS (SELECT number, scheme, list(DISTINCT value) FILTER (annotator = 'embers-guide-1') AS ours, list(DISTINCT value) FILTER (annotator = 'data-path-study') AS theirs
  FROM gold_labels GROUP BY ALL)
SELECT scheme AS "`scheme`", count(*) AS "labelled by both", count(*) FILTER (list_has_any(ours, theirs)) AS "same class"
FROM one WHERE ours IS NOT NULL AND theirs IS NOT NULL GROUP BY scheme ORDER BY scheme
