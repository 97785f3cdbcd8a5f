-- Of the patched memory bugs with a sub-type, what share has one of the five that section V.B calls the most frequent?
-- The paper writes invalid memory access; table II has it under indexing, and as invalid memory address under segment faults.
SELECT count(*) FILTER (WHERE t.value IN ('input_tensor_management', 'channel_management', 'invalid_memory_access',
                                          'invalid_memory_address', 'order', 'programming')) AS k,
       count(t.value) AS n, count(*) AS sample_size
FROM study_patched p
JOIN study_labels m ON m.repo = p.repo AND m.number = p.number AND m.scheme = 'bug_type' AND m.value = 'memory'
LEFT JOIN study_labels t ON t.repo = p.repo AND t.number = p.number AND t.scheme = 'memory_subtype';
