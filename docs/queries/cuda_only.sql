-- What is wrong on CUDA and right on the CPU of the same build.
SELECT name AS "`operator`", mode AS "call: what is not dense", bad || '/' || runs AS "wrong on CUDA", seen AS "what is seen"
FROM 'analysis/results/cuda.csv' WHERE kind = 'hunt' AND bad > 0 AND cpu = 'good' ORDER BY ALL
