-- What does the classifier think of each item?
SELECT
    repo, number, scheme, value, probability, confidence, provenance, model, predicted_at
FROM predictions
ANTI JOIN gone USING (repo, number)
ORDER BY repo, number, scheme, value
