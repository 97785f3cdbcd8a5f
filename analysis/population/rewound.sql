-- The tracker as it was at the end of the study's time: a temporary `items` that hides the stored one, so that the views built on it
-- afterwards speak of that day. State, title and labels are rewound where the history of an item was fetched; elsewhere they are the
-- best that its dates allow (state) or today's (title, labels): store/as_of.sql. {as_of} is that query.
CREATE OR REPLACE TEMP TABLE study_then AS {as_of};

CREATE OR REPLACE TEMP TABLE items AS
SELECT i.* REPLACE (coalesce(t.state, i.state) AS state, coalesce(t.title, i.title) AS title,
                    CASE WHEN t.number IS NULL THEN i.labels ELSE t.labels END AS labels, NULL AS deleted_at,
                    CASE WHEN coalesce(t.state, i.state) = 'closed' AND i.closed_at <= $day THEN i.closed_at END AS closed_at)
FROM main.items i LEFT JOIN study_then t USING (repo, number) LEFT JOIN study_dates d USING (repo, number)
-- an item without a date is there from the day that its number stands for
WHERE t.number IS NOT NULL OR (i.created_at IS NULL AND d.reported_at <= $day AND (i.deleted_at IS NULL OR i.deleted_at > $day));
