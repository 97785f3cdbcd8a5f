-- Newest open reports of silently wrong results.
SELECT number, state, title
FROM candidates
WHERE list_contains(consequences, 'silent') AND state = 'open'
ORDER BY number DESC
LIMIT 5
