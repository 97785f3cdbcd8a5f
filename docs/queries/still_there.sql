-- Items of some kinds whose case occurs on the newest release, with why they were closed.
SELECT repo || '#' || number AS issue, "case" AS "`case`", relation, since, k || '/' || n AS "k/n", processor, control_words AS control,
  seen AS "what was seen", CASE WHEN pairs.duplicate_of IS NOT NULL
    THEN repo || '#' || pairs.duplicate_of END AS "tracked in", why AS "why it was closed"
FROM pairs WHERE verdict = 'occurs' AND list_contains($kinds, kind)
ORDER BY kind, number, "case"
