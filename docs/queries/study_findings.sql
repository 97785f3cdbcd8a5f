-- Findings of the study, on the catalog and with the datasets: those that are supported, or those with insufficient data.
WITH small AS (SELECT unnest(findings, recursive := true), generate_subscripts(findings, 1) AS place FROM 'analysis/results/study.json'),
wide AS (SELECT unnest(findings, recursive := true) FROM 'analysis/results/datasets/study.json')
SELECT small.says AS finding, small.scope AS about, small.numbers AS "on the catalog", wide.numbers AS "with datasets",
  nullif(wide.insufficient_data, '') AS "insufficient data"
FROM small JOIN wide USING (says) WHERE (coalesce(wide.insufficient_data, '') = '') = $supported ORDER BY place
