-- What changed since the study's time? The share of each class among candidates reported until its end (`k` of `n`) and after it
-- (`later_k` of `later_n`). Every scheme by annotators' labels; backends as stated by the catalog or by maintainers' labels.
WITH labelled AS (
    SELECT repo, number, scheme, value FROM study_labels WHERE scheme IN ('bug_type', 'memory_type', 'consequence')
    UNION ALL SELECT repo, number, 'backend', backend FROM study_backends
), counted AS (
    SELECT l.scheme, l.value AS class, s.repo, s.number, s.reported_at >= (SELECT paper_before FROM study_ends) AS later
    FROM study_sample s JOIN labelled l USING (repo, number) WHERE s.sample = 'candidates' AND s.reported_at IS NOT NULL
), totals AS (
    SELECT scheme, count(DISTINCT (repo, number)) FILTER (WHERE NOT later) AS n, count(DISTINCT (repo, number)) FILTER (WHERE later) AS later_n
    FROM counted GROUP BY ALL
)
SELECT c.scheme, c.class, count(*) FILTER (WHERE NOT later) AS k, t.n, count(*) FILTER (WHERE later) AS later_k, t.later_n
FROM counted c JOIN totals t USING (scheme) GROUP BY ALL ORDER BY scheme, k + later_k DESC, class;
