-- The scripts of the reports that get a page, or why there is none.
SELECT s.repo, s.number, s.code, s.environment, s.device, s.found_in, s.changes, s.reason, s.detail
FROM scripts s SEMI JOIN paged p ON p.repo = s.repo AND p.number = s.number
ORDER BY ALL
