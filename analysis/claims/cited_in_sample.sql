-- How many of the threads that a range of the study's references cites pass its own filter, as we rebuild it: closed, labelled as a bug, patched?
SELECT count(DISTINCT r.number) AS k
FROM study_references r JOIN study_patched p ON p.repo = 'pytorch/pytorch' AND p.number = r.number
WHERE r.ref BETWEEN $first AND $last;
