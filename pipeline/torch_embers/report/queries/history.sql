-- Which changes of a status did re-checks of this database find, the newest first?
SELECT repo, number, backend, split_part(split_part(reference, '@', 1), '+', 1) AS reference, status, previous, evidence,
       decided_at
FROM status_history WHERE provenance = 'own'
ORDER BY written DESC NULLS LAST, decided_at DESC, repo, number, backend
