-- What changed since the study's time? The share of each class among candidates reported until its end (`k` of `n`) and after it
-- (`later_k` of `later_n`). Every scheme by annotators' labels; backends as stated by the catalog or by maintainers' labels. A backend is
-- compared only since it exists (`since`): before, no candidate could be about it.
WITH labelled AS (
    SELECT repo, number, scheme, value FROM study_labels WHERE scheme IN ('bug_type', 'memory_type', 'consequence')
    UNION ALL SELECT repo, number, 'backend', backend FROM study_backends
), dated AS (
    SELECT l.scheme, l.value AS class, s.repo, s.number, s.reported_at, s.reported_at >= (SELECT paper_before FROM study_ends) AS later
    FROM study_sample s JOIN labelled l USING (repo, number) WHERE s.sample = 'candidates' AND s.reported_at IS NOT NULL
), classes AS (
    SELECT DISTINCT d.scheme, d.class, b.since FROM dated d LEFT JOIN study_backend_since b ON d.scheme = 'backend' AND b.backend = d.class
)
SELECT c.scheme, c.class, c.since,
       count(DISTINCT (d.repo, d.number)) FILTER (WHERE NOT d.later AND d.class = c.class) AS k,
       count(DISTINCT (d.repo, d.number)) FILTER (WHERE NOT d.later) AS n,
       count(DISTINCT (d.repo, d.number)) FILTER (WHERE d.later AND d.class = c.class) AS later_k,
       count(DISTINCT (d.repo, d.number)) FILTER (WHERE d.later) AS later_n
FROM classes c JOIN dated d ON d.scheme = c.scheme AND (c.since IS NULL OR d.reported_at >= c.since)
GROUP BY ALL ORDER BY c.scheme, k + later_k DESC, c.class;
