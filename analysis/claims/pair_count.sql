-- How many patched bugs are of one memory type and have one consequence?
SELECT count(*) AS k
FROM study_patched p
JOIN study_labels t ON t.repo = p.repo AND t.number = p.number AND t.scheme = 'memory_type' AND t.value = $memory_type
JOIN study_labels c ON c.repo = p.repo AND c.number = p.number AND c.scheme = 'consequence' AND c.value = $consequence;
