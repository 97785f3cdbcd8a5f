-- How much of each repository is there, and how fresh is it?
SELECT repo, count(*) AS items, count(*) FILTER (kind = 'pull') AS pulls, count(*) FILTER (body IS NOT NULL) AS with_text,
       count(*) FILTER (history) AS with_history, min(created_at) AS first_created, max(updated_at) AS newest_change,
       max(fetched_at) AS last_read
FROM items WHERE deleted_at IS NULL GROUP BY repo ORDER BY repo
