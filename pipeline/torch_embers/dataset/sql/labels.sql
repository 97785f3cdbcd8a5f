-- Which classes did annotators give? One row per item, class and annotator. People are numbered.
SELECT
    repo, number, scheme, value, annotator_kind,
    CASE WHEN annotator_kind = 'human'
         THEN 'person-' || dense_rank() OVER (PARTITION BY annotator_kind ORDER BY annotator)
         ELSE annotator END AS annotator,
    evidence, labelled_at
FROM gold_labels
ANTI JOIN gone USING (repo, number)
ORDER BY repo, number, scheme, value, annotator_kind, annotator
