-- Parts of PyTorch, with the number of paths, labels and texts that lead to each.
WITH file AS (FROM 'components.json')
SELECT part.name AS "`sub-component`", part.component AS "`component`", part.meaning AS "what it is",
  len(list_filter(path, lambda one: one.sub = part.name)) AS paths, len(list_filter(label, lambda one: one.sub = part.name)) AS labels,
  len(list_filter("text", lambda one: one.sub = part.name)) AS texts
FROM (SELECT unnest(subcomponent) AS part, path, label, "text" FROM file)
