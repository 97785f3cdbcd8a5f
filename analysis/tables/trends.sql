-- Does a class take a growing or shrinking share of the candidates, half year by half year? One row per class and half year, also where
-- the class has none (`k` of `n` candidates with a label of the scheme); the trend is computed over them. A backend's half years begin with
-- the one in which it came (study_backend_since): a rise from a time without it is no trend.
WITH labelled AS (
    SELECT repo, number, scheme, value AS class FROM study_labels WHERE scheme IN ('bug_type', 'memory_type', 'consequence')
    UNION ALL SELECT repo, number, 'backend', backend FROM study_backends
), dated AS (
    SELECT l.*, year(s.reported_at) AS year, CASE WHEN month(s.reported_at) <= 6 THEN 1 ELSE 2 END AS half
    FROM study_sample s JOIN labelled l USING (repo, number) WHERE s.sample = 'candidates' AND s.reported_at IS NOT NULL
), totals AS (
    SELECT scheme, year, half, count(DISTINCT (repo, number)) AS n FROM dated GROUP BY ALL
), classes AS (
    SELECT DISTINCT d.scheme, d.class, coalesce(2 * year(b.since) + CASE WHEN month(b.since) <= 6 THEN 0 ELSE 1 END, 0) AS since
    FROM dated d LEFT JOIN study_backend_since b ON d.scheme = 'backend' AND b.backend = d.class
), counted AS (
    SELECT scheme, class, year, half, count(*) AS k FROM dated GROUP BY ALL
)
SELECT t.scheme, c.class, t.year, t.half, coalesce(d.k, 0) AS k, t.n
FROM totals t JOIN classes c ON c.scheme = t.scheme AND 2 * t.year + t.half - 1 >= c.since
LEFT JOIN counted d ON d.scheme = t.scheme AND d.class = c.class AND d.year = t.year AND d.half = t.half
ORDER BY t.scheme, c.class, t.year, t.half;
