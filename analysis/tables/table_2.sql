-- Table II: what are the memory types and their sub-types (in the words of data/taxonomy.toml), and how many memory bugs of each sample
-- have each? `n` counts those of the type that have a sub-type at all.
SELECT s.sample, c.parent AS memory_type, c.class AS memory_subtype, c.paper_name, c.definition,
       count(*) FILTER (WHERE t.value = c.class) AS k, count(t.value) AS n
FROM study_classes c
JOIN study_labels m ON m.scheme = 'memory_type' AND m.value = c.parent
JOIN study_sample s ON s.repo = m.repo AND s.number = m.number
LEFT JOIN study_labels t ON t.repo = s.repo AND t.number = s.number AND t.scheme = 'memory_subtype'
WHERE c.scheme = 'memory_subtype'
GROUP BY ALL ORDER BY sample, memory_type, k DESC, memory_subtype;
