-- How much of the tracker does this database hold? Issues and pull requests share one series of numbers: known numbers of all numbers
-- up to the last one within the time. Only a database that holds nearly all can say that something is not there, or how large a
-- share is.
SELECT count(DISTINCT i.number) AS k, coalesce(max(l.number), 0) AS n, (SELECT before_day - 1 FROM study_time) AS until
FROM study_last_number l LEFT JOIN items i ON i.repo = 'pytorch/pytorch' AND i.number <= l.number;
