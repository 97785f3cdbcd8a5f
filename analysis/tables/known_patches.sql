-- How many of the candidate issues have a known patch, by state? `k` of `n` have one, `dated` of them with the day on which it was opened. An
-- issue without one may still have been patched: sources name fixes where they happen to see them. So no time to patch is estimated.
WITH first AS (
    SELECT repo, number, min(patched_at) AS patched_at FROM study_sample_patches WHERE sample = 'candidates' GROUP BY ALL
)
SELECT CASE WHEN s.state = 'open' OR (t.is_past AND s.closed_at >= t.before_day) THEN 'open' WHEN s.closed_at IS NULL THEN 'closed, nobody says when' ELSE 'closed on a known day' END AS state,
       count(*) FILTER (WHERE f.number IS NOT NULL AND f.patched_at IS NOT NULL) AS dated,
       count(*) FILTER (WHERE f.number IS NOT NULL) AS k, count(*) AS n
FROM study_sample s LEFT JOIN first f USING (repo, number), study_time t
WHERE s.sample = 'candidates' AND s.kind = 'issue' GROUP BY 1 ORDER BY 1;
