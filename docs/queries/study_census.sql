-- What the merged history decides, as it is a census of merges.
SELECT claim AS "`claim`", printed, ours AS "on the census", verdict AS "`verdict`", why FROM 'analysis/results/census/claims.csv'
