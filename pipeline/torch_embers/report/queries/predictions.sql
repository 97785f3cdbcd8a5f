-- What does the classifier say of the items that get a page, and why?
SELECT g.repo, g.number, g.scheme, g.value, g.probability, g.confidence, g.provenance, g.explanation
FROM predictions g SEMI JOIN paged p ON p.repo = g.repo AND p.number = g.number
ORDER BY g.repo, g.number, g.scheme, g.probability DESC, g.value
