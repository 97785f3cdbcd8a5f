-- Operators that PyTorch's entries call wrong for layouts and that fail on the newest release, beside what the hunt found of them there.
WITH called AS (
  SELECT op, mode, layout, wrong + outside + died > 0 AS bad, tested + guarded + wrong + outside + died > 0 AS tried
  FROM 'analysis/results/hunt_coverage.parquet'
  UNION ALL SELECT op, mode, layout, wrong + outside + died > 0, tested + guarded + wrong + outside + died > 0
  FROM 'analysis/results/hunt_coverage_others.parquet' WHERE build = '2.15.0' AND dtype IN ('complex64', 'float64')
), fitting AS (
  SELECT op, CASE WHEN mode = 'out' THEN 'test_out' WHEN layout LIKE '%lazy%' THEN 'lazy' ELSE 'test_noncontiguous_samples' END AS test,
    bool_or(bad) AS bad, bool_or(tried) AS tried
  FROM called WHERE mode IN ('forward', 'backward', 'inplace', 'out') GROUP BY ALL
), marked AS (
  SELECT operator, test, bool_or(what = 'drawn numbers differ') AS drawn, any_value(what) AS what,
    CASE WHEN test IN ('test_neg_view', 'test_conj_view') THEN 'lazy' ELSE test END AS fits
  FROM skips WHERE build = '2.15.0' AND state IN ('still fails', 'crashes')
    AND test IN ('test_noncontiguous_samples', 'test_out', 'test_neg_view', 'test_conj_view') GROUP BY ALL
), joined AS (
  SELECT m.*, CASE WHEN drawn THEN 'draws numbers' WHEN f.bad THEN 'found' WHEN f.tried THEN 'called, nothing found' ELSE 'not called' END AS hunt
  FROM marked m LEFT JOIN fitting f ON f.op = m.operator AND f.test = m.fits
), beyond AS (
  SELECT test, count(*) AS operators FROM fitting f
  WHERE bad AND NOT EXISTS (SELECT 1 FROM marked m WHERE m.operator = f.op AND m.fits = f.test) GROUP BY test
)
SELECT j.test AS "`test`", count(*) AS "operators that fail", count(*) FILTER (hunt = 'draws numbers') AS "draw numbers",
  count(*) FILTER (hunt = 'found') AS "found by the hunt",
  coalesce(string_agg(operator || ' (' || what || ')', ', ' ORDER BY operator) FILTER (hunt = 'called, nothing found'), '') AS "called, nothing found",
  coalesce(string_agg(operator || ' (' || what || ')', ', ' ORDER BY operator) FILTER (hunt = 'not called'), '') AS "not called",
  any_value(b.operators) AS "found beyond"
FROM joined j LEFT JOIN beyond b ON b.test = j.fits GROUP BY j.test ORDER BY j.test
