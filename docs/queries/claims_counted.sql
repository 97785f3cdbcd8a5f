-- Claims by what our figure rests on, and by verdict.
WITH claim AS (SELECT verdict, coalesce(nullif(basis, ''), 'no figure') AS rests_on FROM 'analysis/results/claims.csv')
SELECT coalesce(rests_on, 'all') AS "our figure", count(*) FILTER (verdict = 'agrees') AS agrees, count(*) FILTER (verdict = 'differs') AS differs,
  count(*) FILTER (verdict = 'cannot_be_compared') AS cannot_be_compared, count(*) AS claims
FROM claim GROUP BY ROLLUP (rests_on) ORDER BY rests_on IS NULL, claims DESC, rests_on
