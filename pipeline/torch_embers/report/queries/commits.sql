-- What are the commits called that links name?
SELECT c.repo, c.sha, c.subject, strftime(c.committed_at, '%Y-%m-%d') AS day
FROM commits c
WHERE c.sha IN (SELECT sha FROM links WHERE number IS NULL UNION SELECT target_sha FROM links WHERE target_number IS NULL)
ORDER BY ALL
