-- Does a class take a growing or shrinking share of the candidates, half year by half year? One row per class and half year, also where
-- the class has none (`k` of `n` candidates with a label of the scheme); the trend is computed over them.
WITH labelled AS (
    SELECT repo, number, scheme, value AS class FROM study_labels WHERE scheme IN ('bug_type', 'memory_type', 'consequence')
    UNION ALL SELECT repo, number, 'backend', backend FROM study_backends
), dated AS (
    SELECT l.*, year(s.reported_at) AS year, CASE WHEN month(s.reported_at) <= 6 THEN 1 ELSE 2 END AS half
    FROM study_sample s JOIN labelled l USING (repo, number) WHERE s.sample = 'candidates' AND s.reported_at IS NOT NULL
), totals AS (
    SELECT scheme, year, half, count(DISTINCT (repo, number)) AS n FROM dated GROUP BY ALL
), classes AS (
    SELECT DISTINCT scheme, class FROM dated
), counted AS (
    SELECT scheme, class, year, half, count(*) AS k FROM dated GROUP BY ALL
)
SELECT t.scheme, c.class, t.year, t.half, coalesce(d.k, 0) AS k, t.n
FROM totals t JOIN classes c USING (scheme)
LEFT JOIN counted d ON d.scheme = t.scheme AND d.class = c.class AND d.year = t.year AND d.half = t.half
ORDER BY scheme, class, year, half;
