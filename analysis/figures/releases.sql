-- On each release, how many of the bugs with a case occur? By memory bugs and others; `k` of the `n` items that could be tested
-- there. Bugs are those that somebody wrote a case for, and most cases are of bugs that occurred on some release at hand.
SELECT v.version AS release, v.released, CASE WHEN l.value = 'memory' THEN 'memory' ELSE 'rest' END AS class,
       count(*) FILTER (WHERE occurs) AS k, count(*) AS n
FROM study_verdicts v LEFT JOIN study_labels l ON l.repo = v.repo AND l.number = v.number AND l.scheme = 'bug_type'
GROUP BY v.version, v.released, v.place, 3 ORDER BY v.place, class;
