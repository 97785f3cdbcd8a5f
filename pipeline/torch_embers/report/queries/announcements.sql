-- What was announced, the newest first?
SELECT repo, number, backend, split_part(split_part(reference, '@', 1), '+', 1) AS reference, kind, text, announced_at
FROM announcements ORDER BY written DESC NULLS LAST, announced_at DESC, repo, number, backend, kind
