-- Relations between items, strongest first.
SELECT name AS "`relation`", rank, strength, forward AS "from the source", backward AS "from the target", meaning
FROM (SELECT unnest(relation, recursive := true) FROM 'relations.json') ORDER BY rank DESC
