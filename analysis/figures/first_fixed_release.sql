-- When is a bug gone from the releases, counted from its report? One row per issue whose own case (relation `same`) shows the bug on at least
-- one tested release. It was gone after the last release that shows it and not after the first later one that does not: `low` and `high`
-- are these two in days from the report. Without such a release it is censored at the last that shows it (`high` is empty, `gone` false).
-- Only issues reported after the oldest tested release came out: of older bugs only those that lived until then could be seen. `group`
-- is what the tracker had decided by the end of the time, so it is known only afterwards.
WITH tested AS (
    SELECT min(released) AS oldest, max(released) AS newest FROM study_verdicts
), shown AS (
    SELECT repo, number, max(place) AS place, max(released) AS last_shown
    FROM study_verdicts WHERE report_occurs GROUP BY ALL
), gone AS (
    SELECT v.repo, v.number, min(v.released) AS first_without
    FROM study_verdicts v JOIN shown s USING (repo, number) WHERE v.place > s.place AND NOT v.report_occurs GROUP BY ALL
)
SELECT s.number, k.closing AS state, c.value AS consequence, d.reported_at::DATE AS reported, s.last_shown, g.first_without,
       g.first_without IS NOT NULL AS gone,
       greatest(0, date_diff('day', d.reported_at::DATE, s.last_shown)) AS low,
       date_diff('day', d.reported_at::DATE, g.first_without) AS high
FROM shown s CROSS JOIN tested t
JOIN study_closings k USING (repo, number)
JOIN study_dates d USING (repo, number)
LEFT JOIN gone g USING (repo, number)
LEFT JOIN study_labels c ON c.repo = s.repo AND c.number = s.number AND c.scheme = 'consequence'
WHERE k.closing IS NOT NULL AND d.reported_at >= t.oldest AND d.reported_at < t.newest
  AND (g.first_without IS NULL OR g.first_without > d.reported_at::DATE) -- gone before its report: another bug by this name
ORDER BY s.number;
