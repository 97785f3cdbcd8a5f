-- What is the vector of each item's text, by the model that embedded most? Wide vectors are left to `embers search --like`.
WITH chosen AS (
    SELECT e.model, t.variant FROM embeddings e JOIN model_texts t USING (text_hash)
    WHERE e.vector IS NOT NULL GROUP BY ALL ORDER BY count(*) DESC, e.model, t.variant LIMIT 1
)
SELECT t.repo, t.number, any_value(e.vector) AS vector
FROM model_texts t
JOIN chosen c USING (variant)
JOIN embeddings e ON e.text_hash = t.text_hash AND e.model = c.model
SEMI JOIN items i ON i.repo = t.repo AND i.number = t.number AND i.deleted_at IS NULL
GROUP BY t.repo, t.number ORDER BY t.repo, t.number
