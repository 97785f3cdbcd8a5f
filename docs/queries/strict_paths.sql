-- Paths of the strict data path.
SELECT path AS "`path`", sub AS "`sub-component`", reason FROM (SELECT unnest(path, recursive := true) FROM 'components.json') WHERE strict
