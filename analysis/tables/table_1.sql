-- Table I: the bug types of the data path, and how many items of each sample have each. `n` counts the items with a bug type.
SELECT s.sample, c.class, c.paper_name, count(l.value) FILTER (WHERE l.value = c.class) AS k, count(l.value) AS n
FROM study_classes c
CROSS JOIN study_sample s
JOIN study_labels l ON l.repo = s.repo AND l.number = s.number AND l.scheme = 'bug_type'
WHERE c.scheme = 'bug_type'
GROUP BY ALL ORDER BY sample, k DESC, class;
