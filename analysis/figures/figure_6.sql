-- Figure 6: how many memory bugs of each type have which consequence? `n` counts the bugs of that type.
SELECT s.sample, m.value AS class, c.value AS consequence, count(*) AS k, sum(count(*)) OVER (PARTITION BY s.sample, m.value) AS n
FROM study_sample s
JOIN study_labels m ON m.repo = s.repo AND m.number = s.number AND m.scheme = 'memory_type'
JOIN study_labels c ON c.repo = s.repo AND c.number = s.number AND c.scheme = 'consequence'
GROUP BY 1, 2, 3 ORDER BY sample, n DESC, class, k DESC, consequence;
