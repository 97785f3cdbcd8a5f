-- Table I: what are the bug types of the data path (in the words of data/taxonomy.toml), and how many items of each sample have each?
-- `n` counts the items with a bug type.
SELECT s.sample, c.class, c.paper_name, c.definition, count(l.value) FILTER (WHERE l.value = c.class) AS k, count(l.value) AS n
FROM study_classes c
CROSS JOIN study_sample s
JOIN study_labels l ON l.repo = s.repo AND l.number = s.number AND l.scheme = 'bug_type'
WHERE c.scheme = 'bug_type'
GROUP BY ALL ORDER BY sample, k DESC, class;
