-- From which source do the items come, and when was it read last?
SELECT repo, source, count(*) AS items, max(fetched_at) AS last_read FROM items GROUP BY ALL ORDER BY ALL
