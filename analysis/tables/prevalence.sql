-- What does the classifier say of the candidates that nobody labelled, and how many have which label? `predicted` counts its labels
-- (raw: it errs, and not evenly), `labelled` the labels of annotators among the others. The correction is computed from both.
WITH predicted_counts AS (
    SELECT p.scheme, p.value AS class, count(*) AS predicted
    FROM study_sample s JOIN predictions p USING (repo, number)
    WHERE s.sample = 'candidates' AND p.scheme IN ('bug_type', 'memory_type', 'consequence')
      AND p.provenance NOT IN ('execution', 'only_class') -- decided by a run, or nothing to decide: not the classifier's answer
      AND NOT EXISTS (SELECT 1 FROM study_labels g WHERE g.repo = s.repo AND g.number = s.number AND g.scheme = p.scheme)
    GROUP BY ALL
), gold AS (
    SELECT g.scheme, g.value AS class, count(*) AS labelled
    FROM study_sample s JOIN study_labels g USING (repo, number) WHERE s.sample = 'candidates' GROUP BY ALL
)
SELECT c.scheme, c.class, coalesce(predicted_counts.predicted, 0) AS predicted, coalesce(gold.labelled, 0) AS labelled
FROM study_classes c LEFT JOIN predicted_counts USING (scheme, class) LEFT JOIN gold USING (scheme, class)
WHERE c.scheme IN ('bug_type', 'memory_type', 'consequence') ORDER BY c.scheme, c.place;
