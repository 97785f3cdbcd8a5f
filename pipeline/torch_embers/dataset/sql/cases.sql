-- Which scripts show a bug? The current text of each case by hand.
SELECT
    c.name AS "case", c.case_hash, c.summary, c.bug_type, c.memory_type, c.memory_subtype, c.consequence,
    c.requires, c.known_bad, c.fixed_in, c.signature, c.oracle, c.timeout, c.code
FROM chosen_cases c
ORDER BY c.name
