-- Figure 3: which share of the items has which bug type? Only classes that occur.
SELECT s.sample, l.value AS class, count(*) AS k, sum(count(*)) OVER (PARTITION BY s.sample) AS n
FROM study_sample s JOIN study_labels l ON l.repo = s.repo AND l.number = s.number AND l.scheme = 'bug_type'
GROUP BY 1, 2 ORDER BY sample, k DESC, class;
