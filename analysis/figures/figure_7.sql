-- Figure 7: which consequences do non-contiguity bugs have? All of them, and those about nested or distributed tensors, which its
-- caption names; `n` counts the bugs of the group.
WITH bugs AS (
    SELECT s.sample, s.repo, s.number, c.value AS class,
           EXISTS (SELECT 1 FROM components p WHERE p.repo = s.repo AND p.number = s.number
                   AND p.subcomponent IN ('nested', 'dtensor', 'distributed_data')) AS nested
    FROM study_sample s
    JOIN study_labels m ON m.repo = s.repo AND m.number = s.number AND m.scheme = 'memory_type' AND m.value = 'non_contiguous'
    JOIN study_labels c ON c.repo = s.repo AND c.number = s.number AND c.scheme = 'consequence'
), grouped AS (
    SELECT sample, 'all' AS part, class FROM bugs UNION ALL SELECT sample, 'nested or distributed tensors', class FROM bugs WHERE nested
)
SELECT sample, part, class, count(*) AS k, sum(count(*)) OVER (PARTITION BY sample, part) AS n
FROM grouped GROUP BY 1, 2, 3 ORDER BY sample, part, k DESC, class;
