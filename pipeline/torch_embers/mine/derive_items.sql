-- items: per column the newest statement wins among those that state it. Newest is (rank, moment, sequence).

CREATE OR REPLACE TEMP TABLE told_items AS FROM said_items;

CREATE OR REPLACE TEMP TABLE derived_items AS
WITH placed AS (
    SELECT *, row_number() OVER (PARTITION BY repo, number ORDER BY rank, moment NULLS FIRST, sequence, hash) AS place FROM told_items
), newest AS (
    SELECT repo, number,
           arg_max(kind, place) AS kind, arg_max(title, place) AS title, arg_max(body, place) AS body,
           arg_max(author, place) AS author, arg_max(author_association, place) AS author_association,
           arg_max(state, place) AS state, arg_max(is_draft, place) AS is_draft,
           arg_max(merged_at, place) AS merged_at, arg_max(merge_sha, place) AS merge_sha,
           arg_max(base_ref, place) AS base_ref, arg_max(head_ref, place) AS head_ref, arg_max(head_sha, place) AS head_sha,
           arg_max(created_at, place) AS created_at, arg_max(updated_at, place) AS updated_at,
           arg_max(comment_count, place) AS comment_count, arg_max(reaction_count, place) AS reaction_count,
           arg_max(labels, place) AS labels, arg_max(history, place) AS history,
           arg_max(issue_type, place) AS issue_type, arg_max(merged_by, place) AS merged_by,
           arg_max(check_state, place) AS check_state,
           -- who states the milestone or the lock states what belongs to it, too
           arg_max({'title': milestone, 'number': milestone_number, 'due': milestone_due_at}, place)
               FILTER (milestone IS NOT NULL) AS stone,
           arg_max({'on': locked, 'why': lock_reason}, place) FILTER (locked IS NOT NULL) AS lock,
           -- an open item was closed at no time, by nobody and, unless it was reopened, for no reason
           arg_max({'is': CASE WHEN state = 'open' THEN NULL ELSE closed_at END}, place)
               FILTER (closed_at IS NOT NULL OR state = 'open') AS closed,
           arg_max({'is': CASE WHEN state = 'open' THEN NULL ELSE closed_by END}, place)
               FILTER (closed_by IS NOT NULL OR state = 'open') AS closer,
           arg_max({'is': CASE WHEN state = 'open' AND state_reason IS DISTINCT FROM 'reopened' THEN NULL ELSE state_reason END},
                   place) FILTER (state_reason IS NOT NULL OR state = 'open') AS reason,
           arg_max({'at': deleted_at, 'to': transferred_to}, place) FILTER (deleted_at IS NOT NULL) AS gone,
           max(fetched_at) FILTER (source IN ('graphql', 'rest') AND title IS NOT NULL AND said_at IS NOT NULL) AS seen_at,
           arg_max({'source': source, 'at': fetched_at, 'hash': hash}, place) AS origin
    FROM placed GROUP BY repo, number
)
SELECT * EXCLUDE (stone, lock, closed, closer, reason, gone, seen_at, origin),
       stone.title AS milestone, stone.number AS milestone_number, stone.due AS milestone_due_at,
       lock.on AS locked, lock.why AS lock_reason,
       closed."is" AS closed_at, closer."is" AS closed_by, reason."is" AS state_reason,
       -- a tombstone is void once GitHub shows the item again
       CASE WHEN coalesce(seen_at > gone.at, false) THEN NULL ELSE gone.at END AS deleted_at,
       CASE WHEN coalesce(seen_at > gone.at, false) THEN NULL ELSE gone.to END AS transferred_to,
       md5(coalesce(title, '') || chr(10) || coalesce(body, '')) AS content_hash,
       origin.source AS source, origin.at AS fetched_at, origin.hash AS page_id
FROM newest;
