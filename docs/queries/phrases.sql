-- Rules by which texts state relations, in the order in which they are tried.
SELECT id AS "`rule`", relation AS "`relation`", kinds AS texts, reason AS "what it recognises, or why it is there"
FROM (SELECT unnest(rule, recursive := true) FROM 'relations.json')
