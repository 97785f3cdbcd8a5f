-- Which items does each case show?
SELECT c.name AS "case", i.repo, i.number, i.relation
FROM case_items i
JOIN chosen_cases c USING (case_hash)
ANTI JOIN gone g ON g.repo = i.repo AND g.number = i.number
ORDER BY c.name, i.repo, i.number
