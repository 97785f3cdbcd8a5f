-- How long does it take until the first patch of a bug is opened? One row per candidate issue: days from its report to its first patch
-- (`patched`), or to the end of what is known: the day of the study for an open issue, the closing for one closed without a
-- patch. Issues closed on an unknown day without a known patch say nothing about time and are left out; patches opened before the
-- report count as day 0.
WITH first AS (
    SELECT repo, number, min(patched_at) AS patched_at FROM study_sample_patches WHERE sample = 'candidates' GROUP BY ALL
), ended AS (
    SELECT s.repo, s.number, s.reported_at, f.patched_at,
           CASE WHEN f.patched_at IS NOT NULL THEN f.patched_at
                WHEN s.state = 'open' THEN least((SELECT before_day FROM study_time)::TIMESTAMP, coalesce(c.facts_as_of::TIMESTAMP, i.fetched_at))
                WHEN s.closed_at IS NOT NULL THEN least((SELECT before_day FROM study_time)::TIMESTAMP, s.closed_at) END AS end_at
    FROM study_sample s
    JOIN items i USING (repo, number)
    LEFT JOIN first f USING (repo, number) LEFT JOIN catalog c USING (repo, number)
    WHERE s.sample = 'candidates' AND s.kind = 'issue' AND s.reported_at IS NOT NULL
)
SELECT e.number, b.value AS bug_type, m.value AS memory_type, q.value AS consequence, e.patched_at IS NOT NULL AS patched,
       greatest(0, date_diff('second', e.reported_at, e.end_at) / 86400.0) AS days
FROM ended e
LEFT JOIN study_labels b ON b.repo = e.repo AND b.number = e.number AND b.scheme = 'bug_type'
LEFT JOIN study_labels m ON m.repo = e.repo AND m.number = e.number AND m.scheme = 'memory_type'
LEFT JOIN study_labels q ON q.repo = e.repo AND q.number = e.number AND q.scheme = 'consequence'
WHERE e.end_at IS NOT NULL ORDER BY e.number;
