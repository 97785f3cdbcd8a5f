-- Claims that agree, and how many of them rest on a query on this database.
SELECT count(*) AS agree, count(*) FILTER (basis = 'database') AS on_database, count(*) FILTER (basis <> 'database') AS elsewhere
FROM 'analysis/results/claims.csv' WHERE verdict = 'agrees'
