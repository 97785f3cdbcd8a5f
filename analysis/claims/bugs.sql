-- How many of them did maintainers label as a bug, silent, a crash, or NaN or infinity?
SELECT count(*) AS k FROM study_bugs;
