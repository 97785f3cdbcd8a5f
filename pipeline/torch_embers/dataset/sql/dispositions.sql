-- Why was each closed issue closed? One row per issue and annotator. People are numbered.
SELECT
    repo, number, disposition, duplicate_of, evidence_kind, evidence, evidence_ref, evidence_date, annotator_kind,
    CASE WHEN annotator_kind = 'human'
         THEN 'person-' || dense_rank() OVER (PARTITION BY annotator_kind ORDER BY annotator)
         ELSE annotator END AS annotator,
    confidence
FROM dispositions
ANTI JOIN gone USING (repo, number)
ORDER BY repo, number, annotator
