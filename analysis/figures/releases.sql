-- On each release, how many of the bugs with a case occur? By memory bugs and others; `k` of the `n` items that were decided
-- there, and that were reported before it came out: a release is not asked about reports of later years. `reported` is the median
-- day of their reports.
SELECT v.version AS release, v.released, CASE WHEN l.value = 'memory' THEN 'memory' ELSE 'rest' END AS class,
       count(*) FILTER (WHERE occurs) AS k, count(*) AS n, quantile_disc(d.reported_at::DATE, 0.5) AS reported
FROM study_verdicts v JOIN study_dates d USING (repo, number)
LEFT JOIN study_labels l ON l.repo = v.repo AND l.number = v.number AND l.scheme = 'bug_type'
WHERE d.reported_at < v.released AND v.occurs IS NOT NULL
GROUP BY v.version, v.released, v.place, 3 ORDER BY v.place, class;
