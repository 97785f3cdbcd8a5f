-- Every case with its items, what it needs, and the releases on which its verdict in the matrix is `occurs`.
WITH item AS (SELECT case_hash, list(repo || '#' || number ORDER BY number) AS items, min(number) AS first FROM case_items GROUP BY case_hash)
SELECT {text: c.name, url: '../data/cases/' || c.name || '.py'} AS "case", items, coalesce(memory_type, bug_type) AS "`class`",
  c.requires AS "`needs`", spans(list(build) FILTER (verdict = 'occurs'), (SELECT list(build) FROM releases)) AS "occurs on",
  fixed_in AS "gone from"
FROM cases c LEFT JOIN item USING (case_hash) LEFT JOIN matrix m ON m."case" = c.name
WHERE c.current AND c.origin = 'curated'
GROUP BY c.name, items, first, memory_type, bug_type, requires, fixed_in ORDER BY first IS NULL, first, c.name
