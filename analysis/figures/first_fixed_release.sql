-- How long after its report is a bug gone for good from the releases that cases were run on? One row per item that occurs on at least
-- one of them: days from its report to the first release from which on it is absent (`fixed`), else to the newest release. Only
-- items reported after the oldest tested release came out: of older bugs only those that lived until then could be seen.
WITH tested AS (
    SELECT min(released) AS oldest, max(released) AS newest FROM study_verdicts
), spans AS (
    SELECT repo, number, max(place) FILTER (WHERE occurs) AS last_occurs FROM study_verdicts GROUP BY ALL HAVING bool_or(occurs)
), gone AS (
    SELECT v.repo, v.number, min(v.released) AS gone_at
    FROM study_verdicts v JOIN spans s USING (repo, number) WHERE v.place > s.last_occurs GROUP BY ALL
)
SELECT s.number, l.value AS bug_type, m.value AS memory_type, c.value AS consequence, d.reported_at::DATE AS reported,
       g.gone_at IS NOT NULL AS fixed,
       greatest(0, date_diff('day', d.reported_at::DATE, coalesce(g.gone_at, t.newest))) AS days
FROM spans s CROSS JOIN tested t
JOIN study_dates d USING (repo, number)
LEFT JOIN gone g USING (repo, number)
LEFT JOIN study_labels l ON l.repo = s.repo AND l.number = s.number AND l.scheme = 'bug_type'
LEFT JOIN study_labels m ON m.repo = s.repo AND m.number = s.number AND m.scheme = 'memory_type'
LEFT JOIN study_labels c ON c.repo = s.repo AND c.number = s.number AND c.scheme = 'consequence'
WHERE d.reported_at >= t.oldest AND d.reported_at < t.newest ORDER BY s.number;
