-- Which items are the most useful to label next? A row an item, the most useful first.
-- The use of an item is how many wrong answers of the classifier are expected there: what it leaves to other classes, summed over the
-- schemes asked. Later answers of one class count less, the 21st half, so that frequent classes do not fill the list.
WITH doubts AS (
  SELECT repo, number, scheme, value, 1 - probability AS doubt,
    row_number() OVER (PARTITION BY scheme, value ORDER BY probability, repo, number) - 1 AS place
  FROM predictions WHERE list_contains($schemes, scheme) AND NOT isnan(probability)
), said AS (
  SELECT repo, number, sum(doubt / (1 + place / 20)) AS use,
    string_agg(format('{} {} {:.0f} %', scheme, value, 100 * (1 - doubt)), '; ' ORDER BY list_position($schemes, scheme), doubt) AS answer
  FROM doubts GROUP BY ALL
), labelled AS (SELECT DISTINCT repo, number, true AS is_labelled FROM gold_labels)
SELECT i.repo, i.number, i.title, coalesce(s.answer, ''), coalesce(l.is_labelled, false)
FROM items i LEFT JOIN said s USING (repo, number) LEFT JOIN labelled l USING (repo, number)
WHERE i.deleted_at IS NULL AND i.transferred_to IS NULL AND trim(coalesce(i.title, '')) <> '' AND (i.kind IS DISTINCT FROM 'pull' OR l.is_labelled)
  AND NOT EXISTS (
    FROM gold_labels g WHERE g.repo = i.repo AND g.number = i.number AND g.annotator_kind = 'human'
    AND g.annotator = coalesce($annotator, g.annotator) AND list_contains($done, g.scheme))
ORDER BY s.use DESC NULLS LAST, coalesce(i.updated_at, i.created_at) DESC NULLS LAST, i.repo, i.number
LIMIT $pool
