-- Of how many issues the report's own case is decided on the newest release, and still fails, by what the tracker says.
SELECT words AS issue, count(DISTINCT (repo, number)) AS "decided on the newest release",
  count(DISTINCT (repo, number)) FILTER (verdict = 'occurs') AS "its script still fails"
FROM (VALUES (1, 'fixed', 'closed, and its fix was seen'),
             (2, 'declined', 'closed as declined or superseded: no defect is claimed'),
             (3, 'duplicate', 'closed as a duplicate of another issue'),
             (4, 'unknown', 'closed, reason unknown'),
             (5, 'open', 'open')) AS of_kind(place, kind, words)
  JOIN pairs USING (kind)
WHERE relation = 'same' AND verdict IN ('occurs', 'absent')
GROUP BY place, words
ORDER BY place
