-- What differs between two reports: a row for each item with another answer, verdict, state or reason of closing, for each new item and
-- each that is gone, and for each status of an item that both reports have, or neither.
WITH items AS (
    SELECT repo, number, was.number IS NULL AS is_new, now.number IS NULL AS is_gone,
           CASE WHEN now.number IS NULL THEN was.title ELSE now.title END AS title,
           ['closable: ' || was.closable, 'closable: ' || now.closable] AS answer,
           was.verdict IS DISTINCT FROM now.verdict AS has_another_verdict, -- the release alone changes with the newest build
           [was.verdict || ' on ' || was.release, now.verdict || ' on ' || now.release] AS verdict,
           [nullif(concat_ws(': ', was.state, was.disposition), ''), nullif(concat_ws(': ', now.state, now.disposition), '')] AS closing
    FROM items_before was FULL JOIN items_now now USING (repo, number)
), statuses AS (
    SELECT repo, number, backend, [was.status, now.status] AS status
    FROM (SELECT * REPLACE (coalesce(backend, '') AS backend) FROM statuses_before) was
    FULL JOIN (SELECT * REPLACE (coalesce(backend, '') AS backend) FROM statuses_now) now USING (repo, number, backend)
), changes AS (
    SELECT repo, number, title, CASE WHEN is_new THEN 'new' ELSE 'gone' END AS what, NULL AS backend, closing AS said
    FROM items WHERE is_new OR is_gone
    UNION ALL SELECT repo, number, title, 'answer', NULL, answer
    FROM items WHERE NOT is_new AND NOT is_gone AND answer[1] IS DISTINCT FROM answer[2]
    UNION ALL SELECT repo, number, title, 'verdict', NULL, verdict
    FROM items WHERE NOT is_new AND NOT is_gone AND has_another_verdict
    UNION ALL SELECT repo, number, title, 'disposition', NULL, closing
    FROM items WHERE NOT is_new AND NOT is_gone AND closing[1] IS DISTINCT FROM closing[2]
    UNION ALL SELECT repo, number, title, 'status', backend, status
    FROM statuses LEFT JOIN items USING (repo, number)
    WHERE status[1] IS DISTINCT FROM status[2] AND NOT coalesce(is_new OR is_gone, false)
)
SELECT repo, number, title, what, nullif(backend, '') AS backend, said[1] AS before, said[2] AS after
FROM changes ORDER BY list_position($kinds, what), repo, number DESC, coalesce(backend, '')
