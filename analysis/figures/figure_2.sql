-- Figure 2: how many items of each bug type were reported in each half year? `k` of the `n` with a bug type in that half year.
SELECT s.sample, year(s.reported_at) AS year, CASE WHEN month(s.reported_at) <= 6 THEN 1 ELSE 2 END AS half, l.value AS class,
       count(*) AS k, sum(count(*)) OVER (PARTITION BY s.sample, year(s.reported_at), CASE WHEN month(s.reported_at) <= 6 THEN 1 ELSE 2 END) AS n
FROM study_sample s JOIN study_labels l ON l.repo = s.repo AND l.number = s.number AND l.scheme = 'bug_type'
WHERE s.reported_at IS NOT NULL
GROUP BY 1, 2, 3, 4 ORDER BY sample, year, half, class;
