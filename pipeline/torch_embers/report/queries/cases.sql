-- Which cases are there, and which items does each show?
SELECT c.case_hash, c.name, c.origin, c.summary, c.code, c.bug_type, c.memory_type, c.memory_subtype, c.consequence, c.requires,
       c.known_bad, c.fixed_in, c.signature, c.oracle,
       coalesce((SELECT list({repo: i.repo, number: i.number, relation: i.relation} ORDER BY i.repo, i.number)
                 FROM case_items i WHERE i.case_hash = c.case_hash), []) AS items
FROM cases c WHERE c.current
ORDER BY c.origin <> 'curated', c.origin <> 'fix_test', c.name
