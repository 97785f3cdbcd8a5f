-- Which cases are known? One row per current case; `items` names what it shows as owner/name#number.
SELECT c.name, c.origin, list_sort(list(i.repo || '#' || i.number) FILTER (WHERE i.number IS NOT NULL)) AS items, c.bug_type,
       c.memory_type, c.memory_subtype, c.consequence, c.requires, c.known_bad, c.fixed_in, c.signature, c.oracle, c.summary, c.code,
       c.case_hash
FROM cases c LEFT JOIN case_items i USING (case_hash)
WHERE c.current GROUP BY ALL ORDER BY c.name
