-- Where do the candidates show, half year by half year? Backends stated by the catalog or by a maintainers' label; several may hold, and
-- `n` counts the candidates with any. The compiler (inductor) and Apple's GPUs (mps) came to the tracker within the study's time.
SELECT s.sample, year(s.reported_at) AS year, CASE WHEN month(s.reported_at) <= 6 THEN 1 ELSE 2 END AS half, b.backend AS class,
       count(*) AS k,
       (SELECT count(DISTINCT (t.repo, t.number)) FROM study_sample t JOIN study_backends x USING (repo, number)
        WHERE t.sample = s.sample AND year(t.reported_at) = year(s.reported_at)
          AND (month(t.reported_at) <= 6) = (half = 1)) AS n
FROM study_sample s JOIN study_backends b USING (repo, number)
WHERE s.sample = 'candidates' AND s.reported_at IS NOT NULL
GROUP BY ALL ORDER BY sample, year, half, class;
