-- Everything else that ran on CUDA: cases, kernels, findings of the hunt that the CPU shows, too, or that were not confirmed.
SELECT kind, name AS "`name`", mode AS "call or dtype", bad || '/' || runs AS "wrong on CUDA", cpu AS "CPU", seen AS "what is seen"
FROM 'analysis/results/cuda.csv' WHERE NOT (kind = 'hunt' AND bad > 0 AND cpu = 'good') ORDER BY ALL
