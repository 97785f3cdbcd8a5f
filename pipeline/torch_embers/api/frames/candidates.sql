-- Which items report wrong behaviour in the data path (data/candidates.toml)? The signals say why.
SELECT c.repo, c.number, c.kind, c.title, c.state, c.state_reason, c.created_at, c.closed_at, c.label_names AS labels,
       c.data_path, c.data_path_strict, c.computation, c.patches, c.signals, c.consequences
FROM candidates c ORDER BY c.repo, c.number
