-- Where do the candidates show, half year by half year? Backends stated by the catalog or by a maintainers' label; several may hold, and
-- `n` counts the candidates with any. The compiler (inductor) and Apple's GPUs (mps) came to the tracker within the study's time.
WITH shown AS (
    SELECT s.sample, year(s.reported_at) AS year, CASE WHEN month(s.reported_at) <= 6 THEN 1 ELSE 2 END AS half,
           s.repo, s.number, b.backend AS class
    FROM study_sample s JOIN study_backends b USING (repo, number)
    WHERE s.sample = 'candidates' AND s.reported_at IS NOT NULL
), whole AS (
    SELECT sample, year, half, count(DISTINCT (repo, number)) AS n FROM shown GROUP BY ALL
)
SELECT sample, year, half, class, count(*) AS k, any_value(n) AS n
FROM shown JOIN whole USING (sample, year, half)
GROUP BY ALL ORDER BY sample, year, half, class;
