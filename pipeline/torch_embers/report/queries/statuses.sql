-- What is the status of each item and backend now?
SELECT repo, number, backend, split_part(split_part(reference, '@', 1), '+', 1) AS reference, status, evidence, decided_at,
       provenance
FROM statuses ORDER BY repo, number, backend
