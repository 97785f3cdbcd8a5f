-- Figure 5: which share of the memory bugs is of which type, and which sub-types is each made of? One row per type and sub-type
-- (empty: none was given); `type_k` of the `n` memory bugs have the type.
SELECT s.sample, m.value AS class, coalesce(t.value, '') AS part, count(*) AS k,
       sum(count(*)) OVER (PARTITION BY s.sample, m.value) AS type_k, sum(count(*)) OVER (PARTITION BY s.sample) AS n
FROM study_sample s
JOIN study_labels m ON m.repo = s.repo AND m.number = s.number AND m.scheme = 'memory_type'
LEFT JOIN study_labels t ON t.repo = s.repo AND t.number = s.number AND t.scheme = 'memory_subtype'
GROUP BY 1, 2, 3 ORDER BY sample, type_k DESC, class, k DESC, part;
