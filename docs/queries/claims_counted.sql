-- Claims by what our figure rests on, and by verdict.
SELECT coalesce(basis, 'none') AS "our figure", count(*) AS claims, count(*) FILTER (verdict = 'agrees') AS agrees
FROM 'analysis/results/claims.csv' GROUP BY basis ORDER BY claims DESC
