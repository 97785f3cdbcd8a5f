-- Which classes did annotators give to the items that get a page?
SELECT g.repo, g.number, g.scheme, g.value, g.annotator_kind || ':' || g.annotator AS annotator, g.evidence
FROM gold_labels g SEMI JOIN paged p ON p.repo = g.repo AND p.number = g.number
ORDER BY ALL
