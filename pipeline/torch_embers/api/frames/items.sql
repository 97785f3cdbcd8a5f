-- Which issues and pull requests are stored? One row per item that still exists.
SELECT repo, number, coalesce(nullif(kind, ''), 'issue') AS kind, title, state, state_reason, created_at, updated_at, closed_at,
       merged_at, labels, milestone, comment_count, reaction_count, source
FROM items WHERE deleted_at IS NULL ORDER BY repo, number
