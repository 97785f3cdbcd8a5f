-- How many different bugs can a range of the study's references stand for? A fix and the issue that it fixes are one bug, and so is a
-- thread that is cited twice. Fixes come from the links of this database, so this is the most that there can be.
WITH cited AS (SELECT DISTINCT number FROM study_references WHERE ref BETWEEN $first AND $last)
SELECT count(*) - count(*) FILTER (WHERE EXISTS (
    SELECT 1 FROM links l JOIN cited t ON t.number = l.target_number
    WHERE l.relation = 'fixes' AND l.repo = 'pytorch/pytorch' AND l.number = c.number)) AS k
FROM cited c;
