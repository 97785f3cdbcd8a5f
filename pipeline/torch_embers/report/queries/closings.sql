-- Who closed the items that get a page, by what, and with which comment?
SELECT c.repo, c.number, c.closed_by, c.closing_repo, c.closing_number, c.closing_sha, c.closing_comment
FROM closings c SEMI JOIN paged p ON p.repo = c.repo AND p.number = c.number
ORDER BY c.repo, c.number
