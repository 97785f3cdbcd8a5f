-- Findings of the study, on the catalog and with the datasets; supported ones first.
WITH small AS (SELECT unnest(findings, recursive := true), generate_subscripts(findings, 1) AS place FROM 'analysis/results/study.json'),
wide AS (SELECT unnest(findings, recursive := true) FROM 'analysis/results/datasets/study.json')
SELECT small.says AS finding, small.scope AS about, small.numbers AS "on the catalog", wide.numbers AS "with datasets",
  CASE WHEN coalesce(wide.insufficient_data, '') = '' THEN 'supported' ELSE 'insufficient data: ' || wide.insufficient_data END AS outcome
FROM small JOIN wide USING (says) ORDER BY outcome <> 'supported', place
