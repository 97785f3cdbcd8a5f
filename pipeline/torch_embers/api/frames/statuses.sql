-- What do the tracker's state and the verdicts together say of each item with a case?
SELECT s.repo, s.number, s.backend, s.status, s.reference, i.title, i.state, d.disposition, s.evidence, s.provenance, s.decided_at
FROM statuses s
LEFT JOIN items i USING (repo, number)
LEFT JOIN item_dispositions d USING (repo, number)
ORDER BY s.repo, s.number, s.backend
