-- Which texts were written or changed since the link stage last parsed them, or were parsed by other rules?
-- And which name by hash what was a commit of their own item then (resolve_commits.sql notes it) and is none now?
-- A text that is gone comes without a hash: what it said is forgotten.
-- {digest} is the hash of the rules; one row per text with the key that link_scans will hold, and its place in the order of arrival.
-- Not sorted here: to sort half a million keys beside the join takes more than the memory limit.
WITH texts AS (
    SELECT repo, 'item' AS origin, number::VARCHAR AS id, number, rowid AS place,
           md5(coalesce(content_hash, '') || coalesce(kind, '') || {digest}) AS content_hash
    FROM items WHERE title IS NOT NULL OR body IS NOT NULL
    UNION ALL
    SELECT repo, 'comment', comment_id, number, rowid, md5(coalesce(body, '') || number || {digest}) FROM comments
    UNION ALL
    -- a commit is read again when its place in the history or its landing changes, too: they decide what may stand
    SELECT repo, 'commit', sha, NULL, rowid, md5(concat_ws(' ', coalesce(message, subject, ''),
           coalesce(line, '-'), coalesce(pull_number, 0), coalesce(committed_at::VARCHAR, '-'), {digest})) FROM commits
), own AS (
    SELECT repo, substr(origin, 5) AS origin, id, content_hash AS sha FROM link_scans WHERE starts_with(origin, 'own ')
), landed AS (
    SELECT repo, lower(sha) AS sha, pull_number AS number FROM commits WHERE pull_number IS NOT NULL
    UNION ALL SELECT repo, lower(merge_sha), number FROM items WHERE merge_sha IS NOT NULL AND kind = 'pull'
), owners AS (
    SELECT o.repo, o.origin, o.id, o.sha, list(DISTINCT l.number) AS numbers
    FROM own o LEFT JOIN landed l ON l.repo = o.repo AND left(l.sha, 7) = left(o.sha, 7) AND starts_with(l.sha, o.sha)
    GROUP BY ALL
)
SELECT t.origin, t.repo, t.id, t.number, t.content_hash, t.place, s.id IS NOT NULL AS seen
FROM texts t LEFT JOIN link_scans s ON s.repo = t.repo AND s.origin = t.origin AND s.id = t.id
WHERE s.content_hash IS DISTINCT FROM t.content_hash
   OR EXISTS (FROM owners o WHERE o.repo = t.repo AND o.origin = t.origin AND o.id = t.id AND o.numbers IS DISTINCT FROM [t.number])
UNION ALL
SELECT origin, repo, id, NULL, NULL, 0, true
FROM link_scans s ANTI JOIN texts t ON t.repo = s.repo AND t.origin = s.origin AND t.id = s.id
WHERE s.origin IN ('item', 'comment', 'commit');
