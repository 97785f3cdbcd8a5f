-- Paths of the strict data path.
SELECT unnest(part.strict_paths) AS "`path`", part.name AS "`sub-component`" FROM (SELECT unnest(part) AS part FROM 'components.json')
