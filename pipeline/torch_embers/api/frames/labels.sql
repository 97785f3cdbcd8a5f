-- Which taxonomy labels does each item have? Gold labels of annotators and predictions of the classifier, told apart by `source`.
SELECT repo, number, scheme, value, NULL::DOUBLE AS probability, NULL AS confidence, annotator_kind AS source, annotator AS given_by, evidence
FROM gold_labels
UNION ALL
SELECT repo, number, scheme, value, probability, confidence, CASE provenance WHEN 'execution' THEN 'execution' ELSE 'model' END, model,
       explanation
FROM predictions
ORDER BY repo, number, scheme, source, value, given_by
