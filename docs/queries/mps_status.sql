-- Statements of a page on the MPS backend, with issues of the catalog that bear on each.
SELECT section || ' ' || item AS statement, topic, list_transform(issues, lambda number: '#' || number) AS issues, reason AS "why these"
FROM (SELECT unnest(entry, recursive := true) FROM 'mps_status.json')
