-- What do verdicts and tracker say together of an item?
SELECT repo, number, backend, reference, status, decided_at, provenance
FROM statuses
ANTI JOIN gone USING (repo, number)
ORDER BY repo, number, backend
