-- In which year was the oldest (`which` = first) or the newest of the cited threads created, for a range of references?
SELECT CASE WHEN $which = 'first' THEN min(year(i.created_at)) ELSE max(year(i.created_at)) END AS k
FROM items i JOIN study_references r ON r.number = i.number
WHERE i.repo = 'pytorch/pytorch' AND r.ref BETWEEN $from AND $to;
