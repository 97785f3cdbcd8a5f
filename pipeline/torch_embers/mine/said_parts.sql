-- What raw objects say of the parts of items: comments, events, files. Read `concerned`, rows of `raw`.

CREATE OR REPLACE TEMP VIEW said_comments AS
WITH objects AS (
    SELECT repo, split_part(id, '/', 1)::INTEGER AS number, source, said_at, sequence, fetched_at, hash,
           CASE WHEN kind = 'comment' THEN part_of(id) ELSE json_extract_string(json, '$.payload.comment.id') END AS comment_id,
           CASE WHEN kind = 'happening' THEN moment(json_extract_string(json, '$.created_at')) END AS happened_at,
           coalesce(kind = 'happening' AND json_extract_string(json, '$.payload.action') = 'deleted', false) AS deleted,
           json_transform(CASE WHEN kind = 'comment' THEN json ELSE json_extract(json, '$.payload.comment') END, '{
               "user": {"login": "VARCHAR", "__typename": "VARCHAR"}, "actor": {"login": "VARCHAR", "__typename": "VARCHAR"},
               "author": {"login": "VARCHAR", "__typename": "VARCHAR"},
               "author_association": "VARCHAR", "authorAssociation": "VARCHAR", "body": "VARCHAR",
               "created_at": "VARCHAR", "createdAt": "VARCHAR", "updated_at": "VARCHAR", "updatedAt": "VARCHAR"}') AS o
    FROM concerned
    WHERE kind = 'comment' OR (kind = 'happening' AND json_extract_string(json, '$.type') = 'IssueCommentEvent')
)
SELECT repo, number, comment_id, source, sequence, fetched_at, hash, deleted,
       coalesce(account(o.user), account(o.actor), account(o.author)) AS author,
       coalesce(o.author_association, o.authorAssociation) AS author_association,
       coalesce(moment(o.created_at), moment(o.createdAt), happened_at) AS created_at,
       coalesce(moment(o.updated_at), moment(o.updatedAt),
                CASE WHEN happened_at IS NOT NULL THEN coalesce(moment(o.created_at), happened_at) END) AS updated_at,
       coalesce(o.body, '') AS body
FROM objects WHERE comment_id IS NOT NULL;

CREATE OR REPLACE TEMP VIEW said_events AS
WITH objects AS (
    SELECT repo, split_part(id, '/', 1)::INTEGER AS number, part_of(id) AS event_id, source, sequence, fetched_at, hash,
           json_transform(json, '{
               "event": "VARCHAR", "__typename": "VARCHAR", "created_at": "VARCHAR", "createdAt": "VARCHAR",
               "actor": {"login": "VARCHAR", "__typename": "VARCHAR"}, "label": {"name": "VARCHAR"},
               "state_reason": "VARCHAR", "stateReason": "VARCHAR", "willCloseTarget": "BOOLEAN",
               "rename": {"from": "VARCHAR", "to": "VARCHAR"}, "previousTitle": "VARCHAR", "currentTitle": "VARCHAR",
               "source": {"issue": {"number": "INTEGER", "repository_url": "VARCHAR", "url": "VARCHAR"},
                          "number": "INTEGER", "repository": {"nameWithOwner": "VARCHAR"}},
               "canonical": {"number": "INTEGER", "repository": {"nameWithOwner": "VARCHAR"}},
               "subject": {"number": "INTEGER", "repository": {"nameWithOwner": "VARCHAR"}},
               "closer": {"number": "INTEGER", "repository": {"nameWithOwner": "VARCHAR"}, "oid": "VARCHAR"},
               "commit": {"oid": "VARCHAR"}, "commit_id": "VARCHAR", "fromRepository": {"nameWithOwner": "VARCHAR"}}') AS o
    FROM concerned WHERE kind = 'event'
), typed AS (
    SELECT *, CASE WHEN o.event IS NOT NULL THEN replace(o.event, '-', '_')
                   WHEN o.__typename = 'RenamedTitleEvent' THEN 'renamed'
                   ELSE lower(regexp_replace(regexp_replace(o.__typename, 'Event$', ''), '(.)([A-Z])', '\1_\2', 'g')) END AS type
    FROM objects
)
SELECT repo, number, event_id, type, source, sequence, fetched_at, hash,
       coalesce(moment(o.created_at), moment(o.createdAt)) AS created_at,
       account(o.actor) AS actor, o.label.name AS label,
       coalesce(o.state_reason, lower(o.stateReason)) AS state_reason,
       coalesce(o.rename.from, o.previousTitle) AS title_from, coalesce(o.rename.to, o.currentTitle) AS title_to,
       coalesce(o.canonical.repository.nameWithOwner, o.source.repository.nameWithOwner, o.subject.repository.nameWithOwner,
                o.closer.repository.nameWithOwner, o.fromRepository.nameWithOwner,
                CASE WHEN o.source.issue.number IS NOT NULL
                     THEN coalesce(repo_at(o.source.issue.repository_url), repo_at(o.source.issue.url), repo) END) AS other_repo,
       coalesce(o.canonical.number, o.source.number, o.subject.number, o.closer.number, o.source.issue.number) AS other_number,
       coalesce(o.closer.oid, o.commit.oid, o.commit_id) AS commit_sha,
       o.willCloseTarget AS will_close
FROM typed
WHERE type IN ('labeled', 'unlabeled', 'closed', 'reopened', 'renamed', 'transferred', 'marked_as_duplicate',
               'unmarked_as_duplicate', 'cross_referenced', 'referenced', 'connected', 'merged')
UNION ALL BY NAME
FROM said_by_archive;

CREATE OR REPLACE TEMP VIEW said_files AS
SELECT repo, split_part(id, '/', 1)::INTEGER AS number, part_of(id) AS path, source, sequence, fetched_at, hash,
       lower(coalesce(json_extract_string(json, '$.changeType'), json_extract_string(json, '$.status'))) AS change,
       try_cast(json_extract_string(json, '$.additions') AS INTEGER) AS additions,
       try_cast(json_extract_string(json, '$.deletions') AS INTEGER) AS deletions
FROM concerned WHERE kind = 'file';
