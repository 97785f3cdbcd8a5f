-- Operators of the dispatcher without samples of their own: how many are called, and why the others are not.
WITH map AS (FROM 'analysis/results/hunt_coverage.parquet'),
kept AS (SELECT DISTINCT build, op, dtype, reason, skipped, operator FROM map WHERE op LIKE 'aten.%'),
called AS (SELECT DISTINCT operator FROM map WHERE mode = 'kernels' AND tested + refused + undecided > 0),
told AS (
  SELECT CASE WHEN operator <> '' THEN 'called with arguments that the schema suggests'
    WHEN reason LIKE 'no simple arguments%' AND EXISTS (SELECT 1 FROM called WHERE operator LIKE kept.op || '.%')
      THEN 'called with arguments that samples of others bring'
    ELSE reason END AS what, op
  FROM kept
)
SELECT what AS "operators of the dispatcher without samples", count(DISTINCT op) AS operators
FROM told WHERE what <> '' GROUP BY what ORDER BY operators DESC, what
