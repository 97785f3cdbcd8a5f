-- The tracker as it was at the end of the study's time: a temporary `items` that hides the stored one, so that the views built on it
-- afterwards speak of that day. State, title, labels and the day of closing are rewound where the history of an item was fetched;
-- elsewhere they are the best that its dates allow (state) or today's (title, labels): store/as_of.sql, which is put in below.
-- It knows items by their dates: one without a date of its own has that of its number (study_dates).
CREATE OR REPLACE TEMP TABLE items AS
SELECT i.repo, i.number, i.kind, i.title, i.state, i.labels, coalesce(i.created_at, d.reported_at) AS created_at, i.closed_at,
       i.deleted_at, i.history
FROM main.items i LEFT JOIN study_dates d USING (repo, number);

CREATE OR REPLACE TEMP TABLE study_then AS {as_of};

DROP TABLE temp.items; -- as long as it is there, main.items means it, too

CREATE TEMP TABLE items AS
WITH closings AS (
    SELECT repo, number, max(created_at) AS closed_at FROM main.events
    WHERE type IN ('closed', 'merged') AND created_at <= $day GROUP BY ALL
)
SELECT i.* REPLACE (t.state AS state, t.title AS title, t.labels AS labels, NULL AS deleted_at,
                    CASE WHEN t.state = 'closed' AND i.closed_at <= $day THEN i.closed_at -- closed once more later: by its history
                         WHEN t.state = 'closed' THEN c.closed_at END AS closed_at)
FROM main.items i JOIN study_then t USING (repo, number) LEFT JOIN closings c USING (repo, number);
