-- What is known of each current case, in one row: for `embers list --cases`.
SELECT c.name, c.case_hash, c.origin, c.summary, c.requires, c.oracle, c.fixed_in, c.known_bad,
       list_filter([CASE WHEN c.bug_type IS NOT NULL THEN 'bug_type=' || c.bug_type END,
                    CASE WHEN c.memory_type IS NOT NULL THEN 'memory_type=' || c.memory_type END,
                    CASE WHEN c.memory_subtype IS NOT NULL THEN 'memory_subtype=' || c.memory_subtype END,
                    CASE WHEN c.consequence IS NOT NULL THEN 'consequence=' || c.consequence END],
                   lambda class: class IS NOT NULL) AS classes,
       coalesce((SELECT list_sort(list(i.repo || '#' || i.number)) FROM case_items i WHERE i.case_hash = c.case_hash), [])
           AS items,
       v.verdict, v.release, v.k, v.n
FROM cases c
LEFT JOIN ({newest_verdicts}) v USING (case_hash)
WHERE c.current
