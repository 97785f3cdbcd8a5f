-- The tracker as it was at the end of the study's time: a temporary `items` that hides the stored one, so that the views built on it
-- afterwards speak of that day. State, title and labels are rewound where the history of an item was fetched; elsewhere they are the
-- best that its dates allow (state) or today's (title, labels): store/as_of.sql. {as_of} is that query.
CREATE OR REPLACE TEMP TABLE study_then AS {as_of};

CREATE OR REPLACE TEMP TABLE items AS
SELECT i.* REPLACE (t.state AS state, t.title AS title, t.labels AS labels, NULL AS deleted_at,
                    CASE WHEN t.state = 'closed' AND i.closed_at <= $day THEN i.closed_at END AS closed_at)
FROM main.items i JOIN study_then t USING (repo, number);
