-- What does the tracker show of each item? One row per item that it still shows.
SELECT
    i.repo, i.number, nullif(i.kind, '') AS kind, i.title, i.state, i.state_reason,
    i.created_at, i.updated_at, i.closed_at, i.merged_at, i.is_draft, i.merge_sha, nullif(i.milestone, '') AS milestone,
    list_sort(i.labels) AS labels,
    i.comment_count, i.reaction_count, i.transferred_to, i.source,
    CASE WHEN i.source = 'catalog' THEN coalesce(c.facts_as_of, i.fetched_at::DATE) ELSE i.fetched_at::DATE END AS state_as_of,
    CASE WHEN i.kind = 'pull' THEN NULL ELSE coalesce(a.closable, 'unknown') END AS closable, file_names(a.because) AS because
FROM items i
LEFT JOIN answers a USING (repo, number)
LEFT JOIN catalog c USING (repo, number)
WHERE i.deleted_at IS NULL
ORDER BY i.repo, i.number
