-- Why was each closed issue closed, as far as readings, events and links agree? One row per issue. People are numbered as in dispositions;
-- a text that names one is left out.
WITH people AS (
    SELECT annotator, 'person-' || dense_rank() OVER (ORDER BY annotator) AS alias
    FROM dispositions ANTI JOIN gone USING (repo, number) WHERE annotator_kind = 'human'
    GROUP BY annotator
)
SELECT
    d.repo, d.number, d.disposition, d.duplicate_of, d.evidence_kind,
    CASE WHEN d.annotator_kind = 'rule' AND EXISTS (FROM people p WHERE contains(d.evidence, p.annotator))
         THEN 'a reading and the tracker, or two readings, contradict each other' ELSE d.evidence END AS evidence,
    d.evidence_ref, d.evidence_date, d.annotator_kind,
    CASE WHEN d.annotator_kind = 'human' THEN p.alias ELSE d.annotator END AS annotator,
    d.confidence
FROM item_dispositions d
LEFT JOIN people p ON p.annotator = d.annotator AND d.annotator_kind = 'human'
ANTI JOIN gone USING (repo, number)
ORDER BY repo, number
