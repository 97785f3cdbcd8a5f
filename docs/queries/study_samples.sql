-- Who is counted, on the catalog and with the datasets.
WITH small AS (SELECT unnest(samples, recursive := true), generate_subscripts(samples, 1) AS place FROM 'analysis/results/study.json'),
wide AS (SELECT unnest(samples, recursive := true) FROM 'analysis/results/datasets/study.json')
SELECT small.name AS "`sample`", small.label AS called, small.items AS catalog, wide.items AS "with datasets", small.reason AS who
FROM small JOIN wide USING (name) ORDER BY place
