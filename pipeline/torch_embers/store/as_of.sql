-- What did the tracker say on a given day? Parameter $day: the end of that moment (UTC).
-- State and labels are rewound from the events; where an item's history was not fetched, the columns *_known say so and
-- the answer is the best that the item's own dates allow (state) or today's labels.
WITH ordered AS (
    -- events of one second count in the order of their ids, and where those are no numbers in the order of arrival
    SELECT *, ROW(created_at, try_cast(event_id AS BIGINT), rowid) AS place FROM events
), changes AS (
    SELECT repo, number,
           arg_max(CASE type WHEN 'reopened' THEN 'open' ELSE 'closed' END, place)
               FILTER (type IN ('closed', 'reopened', 'merged') AND created_at <= $day) AS state_then,
           arg_min(title_from, place) FILTER (type = 'renamed' AND created_at > $day) AS title_then
    FROM ordered GROUP BY ALL
), later AS (
    -- what first happened to each label after the day: undoing it leads from today's labels back to that day's
    SELECT repo, number, label,
           arg_min(type, place) AS first_change
    FROM ordered WHERE type IN ('labeled', 'unlabeled') AND label IS NOT NULL AND created_at > $day GROUP BY ALL
), rewound AS (
    SELECT i.repo, i.number, coalesce(n.name, l.label) AS name, l.first_change
    FROM (SELECT repo, number, unnest(labels) AS name FROM items) n
    FULL JOIN later l ON l.repo = n.repo AND l.number = n.number AND l.label = n.name
    JOIN items i ON i.repo = coalesce(n.repo, l.repo) AND i.number = coalesce(n.number, l.number)
), labels_then AS (
    SELECT repo, number, list_sort(list(name)) AS labels
    FROM rewound WHERE first_change IS NULL OR first_change = 'unlabeled' GROUP BY ALL
)
SELECT i.repo, i.number, i.kind,
       coalesce(c.title_then, i.title) AS title,
       CASE WHEN coalesce(i.history, false) THEN coalesce(c.state_then, 'open')
            WHEN i.closed_at IS NOT NULL AND i.closed_at <= $day THEN 'closed'
            WHEN i.closed_at IS NOT NULL THEN 'open'
            ELSE i.state END AS state,
       -- dates tell only of the last closing: what was before it, or before today's open state, is a guess
       coalesce(i.history OR (i.state = 'closed' AND i.closed_at <= $day), false) AS state_known,
       CASE WHEN coalesce(i.history, false) THEN coalesce(t.labels, []::VARCHAR[]) ELSE i.labels END AS labels,
       coalesce(i.history, false) AS labels_known,
       i.created_at
FROM items i
LEFT JOIN changes c USING (repo, number)
LEFT JOIN labels_then t USING (repo, number)
WHERE i.created_at <= $day AND (i.deleted_at IS NULL OR i.deleted_at > $day)
ORDER BY i.repo, i.number
