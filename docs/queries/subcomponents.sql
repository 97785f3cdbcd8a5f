-- Parts of PyTorch, with the number of paths, labels and texts that lead to each.
SELECT part.name AS "`sub-component`", part.component AS "`component`", part.meaning AS "what it is",
  coalesce(len(part.strict_paths), 0) + coalesce(len(part.paths), 0) AS paths,
  coalesce(len(part.strict_labels), 0) + coalesce(len(part.labels), 0) AS labels, coalesce(len(part."text"), 0) AS texts
FROM (SELECT unnest(part) AS part FROM 'components.json')
