-- What the hunt did not call, and why.
SELECT reason, count(DISTINCT op) AS operators, sum(skipped)::INT AS times FROM 'analysis/results/hunt_coverage.parquet'
WHERE reason <> '' AND skipped > 0 GROUP BY reason ORDER BY times DESC, reason
