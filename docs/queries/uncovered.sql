-- Issues that have no case for a stated reason.
SELECT repo || '#' || number AS issue, reason AS "why it has no case" FROM (SELECT unnest(issue, recursive := true) FROM 'uncovered.json') ORDER BY number
