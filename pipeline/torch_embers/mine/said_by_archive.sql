-- Events that GH Archive tells of: its own id, because events of the API have numbers of their own.

CREATE OR REPLACE TEMP VIEW said_by_archive AS
WITH objects AS (
    SELECT repo, split_part(id, '/', 1)::INTEGER AS number, part_of(id) AS happening, source, sequence, fetched_at, hash,
           json_transform(json, '{
               "type": "VARCHAR", "created_at": "VARCHAR", "actor": {"login": "VARCHAR"}, "payload": {
                   "action": "VARCHAR", "label": "JSON", "labels": "JSON",
                   "issue": {"title": "VARCHAR", "state_reason": "VARCHAR"},
                   "pull_request": {"title": "VARCHAR", "merged": "BOOLEAN", "merged_at": "VARCHAR"},
                   "changes": {"title": {"from": "VARCHAR"}, "new_repository": {"full_name": "VARCHAR"},
                               "new_issue": {"number": "INTEGER"}}}}') AS o,
           json_extract_string(json, '$.actor') AS actor, json_extract(json, '$.payload.issue.state_reason') = 'null' AS no_reason
    FROM concerned WHERE kind = 'happening'
), rows AS (
    SELECT *, unnest(CASE WHEN o.payload.action IN ('labeled', 'unlabeled')
        THEN coalesce(nullif(names_of(json_array(o.payload.label)), []), names_of(o.payload.labels), []) ELSE [NULL] END) AS label
    FROM objects WHERE o.type IN ('IssuesEvent', 'PullRequestEvent')
)
SELECT repo, number, source, sequence, fetched_at, hash,
       'archive:' || happening || CASE WHEN row_number() OVER same > 1 THEN ':' || (row_number() OVER same - 1) ELSE '' END AS event_id,
       CASE WHEN o.payload.action = 'edited' THEN 'renamed' ELSE o.payload.action END AS type,
       moment(o.created_at) AS created_at,
       coalesce(o.actor.login, CASE WHEN NOT starts_with(actor, '{') THEN actor END) AS actor, label,
       CASE WHEN o.payload.action <> 'closed' THEN NULL
            WHEN o.payload.pull_request.merged OR o.payload.pull_request.merged_at IS NOT NULL THEN 'merged'
            WHEN no_reason OR NOT o.payload.pull_request.merged THEN ''
            ELSE o.payload.issue.state_reason END AS state_reason,
       CASE WHEN o.payload.action = 'edited' THEN o.payload.changes.title.from END AS title_from,
       CASE WHEN o.payload.action = 'edited' THEN coalesce(o.payload.issue.title, o.payload.pull_request.title) END AS title_to,
       CASE WHEN o.payload.action = 'transferred' THEN o.payload.changes.new_repository.full_name END AS other_repo,
       CASE WHEN o.payload.action = 'transferred' THEN o.payload.changes.new_issue.number END AS other_number
FROM rows
WHERE o.payload.action IN ('closed', 'reopened', 'labeled', 'unlabeled', 'transferred', 'deleted', 'merged')
   OR (o.payload.action = 'edited' AND o.payload.changes.title.from IS NOT NULL)
WINDOW same AS (PARTITION BY repo, number, hash ORDER BY label);
