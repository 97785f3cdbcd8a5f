-- What does the classifier think of each item?
SELECT
    repo, number, scheme, value, likeliest, probability, abstained, provenance, model, variant, predicted_at
FROM predictions
ANTI JOIN gone USING (repo, number)
ORDER BY repo, number, scheme, likeliest
