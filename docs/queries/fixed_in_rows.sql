-- Every drawn fix that has a script.
SELECT draw, '#' || pull AS fix, release AS "named in", area, '#' || issue AS issue, before, named, newest, outcome
FROM 'analysis/results/fixed_in.csv' WHERE script IS NOT NULL ORDER BY draw
