-- Why was each closed issue closed, and what shows it?
SELECT repo, number, disposition, duplicate_of, evidence_kind, evidence, evidence_ref, evidence_date, annotator_kind, annotator, confidence
FROM item_dispositions ORDER BY repo, number
