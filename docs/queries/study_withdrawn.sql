-- Findings that were printed once and are withdrawn.
SELECT says AS withdrawn, was AS "was printed as", reason AS why FROM (SELECT unnest(withdrawn, recursive := true) FROM 'findings.json')
