-- Cases by class and by the device that they need.
SELECT coalesce(coalesce(memory_type, bug_type), 'all') AS "`class`",
  count(*) FILTER (NOT list_has_any(requires, ['cuda', 'mps', 'xpu'])) AS cpu,
  count(*) FILTER (list_contains(requires, 'cuda')) AS cuda, count(*) FILTER (list_contains(requires, 'mps')) AS mps,
  count(*) AS cases
FROM cases WHERE current GROUP BY ROLLUP (coalesce(memory_type, bug_type)) ORDER BY count(*) = max(count(*)) OVER (), cases DESC, 1
