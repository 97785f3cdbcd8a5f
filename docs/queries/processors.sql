-- On which processor and CPU capability the releases of the matrix ran.
SELECT processor, spans(list(build), (SELECT list(build) FROM releases)) AS releases
FROM matrix GROUP BY processor ORDER BY processor
