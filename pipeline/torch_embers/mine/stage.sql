-- From the records of a file (`records`: place, line, json) to objects of `raw`: `staged` has a row per object, `shape` NULL where
-- it is none that we know. What people have: REST, gh issue list, gh api --paginate --slurp (a list of lists), search answers, GraphQL
-- answers, webhooks, events of the API and of GH Archive, and published datasets (`shapes`).

CREATE OR REPLACE TEMP MACRO is_wrapper(object) AS
    coalesce(json_type(object) = 'ARRAY' OR (json_type(object) = 'OBJECT'
        AND NOT list_has_any(json_keys(object), ['number', 'action', 'sha', 'event', 'payload', 'issue_url'])
        AND (json_type(object, '$.items') = 'ARRAY' OR json_type(object, '$.nodes') = 'ARRAY' OR json_type(object, '$.data') = 'OBJECT'
             OR list_has_any(json_keys(object), ['issues', 'pullRequests', 'issueOrPullRequest', 'issue', 'pullRequest']))), false);

CREATE OR REPLACE TEMP MACRO inside(object) AS
    CASE WHEN json_type(object) = 'ARRAY' THEN TRY_CAST(object AS JSON[])
         WHEN json_type(object, '$.items') = 'ARRAY' THEN TRY_CAST(json_extract(object, '$.items') AS JSON[])
         WHEN json_type(object, '$.nodes') = 'ARRAY' THEN TRY_CAST(json_extract(object, '$.nodes') AS JSON[])
         ELSE [part FOR part IN json_extract(object, ['$.data.repository', '$.data.search', '$.data.node', '$.issues', '$.pullRequests',
                                                      '$.issueOrPullRequest', '$.issue', '$.pullRequest'])
               IF json_type(part) IN ('OBJECT', 'ARRAY')] END;

CREATE OR REPLACE TEMP MACRO number_in(value) AS  -- a usable number of an item: whole and positive
    CASE WHEN json_type(value) = 'UBIGINT' THEN nullif(try_cast(json_extract_string(value, '$') AS INTEGER), 0) END;

CREATE OR REPLACE TEMP TABLE objects AS
WITH RECURSIVE opened AS (
    SELECT place, json AS object, NULL::VARCHAR AS home FROM records WHERE json IS NOT NULL
    UNION ALL
    SELECT place, unnest(inside(object)), coalesce(json_extract_string(object, '$.data.repository.nameWithOwner'), home)
    FROM opened WHERE is_wrapper(object)
)
SELECT place, object, home, row_number() OVER (ORDER BY place) AS nth, coalesce(json_keys(object), []) AS has
FROM opened WHERE NOT is_wrapper(object);

CREATE OR REPLACE TEMP TABLE staged AS
WITH shaped AS (
    SELECT *, CASE
        WHEN json_type(object) <> 'OBJECT' THEN NULL
        WHEN list_has_all(has, ['sha', 'committed', 'message']) THEN 'commit'
        WHEN list_has_all(has, ['type', 'payload']) THEN 'happening'
        WHEN list_contains(has, 'action') AND list_has_any(has, ['issue', 'pull_request']) THEN 'webhook'
        WHEN list_has_all(has, ['issue_url', 'body']) AND NOT list_contains(has, 'number') THEN 'comment'
        WHEN list_has_all(has, ['event', 'issue']) THEN 'event'
        WHEN NOT list_has_any(has, ['updated_at', 'updatedAt', 'node_id', 'author', '__typename'])
             AND NOT (list_contains(has, 'createdAt') AND json_type(object, '$.labels') = 'ARRAY')
             AND EXISTS (FROM shapes s WHERE list_has_all(has, s.requires))
            THEN 'dataset:' || (SELECT arg_min(s.id, s.place) FROM shapes s WHERE list_has_all(has, s.requires))
        WHEN list_contains(has, 'number') AND list_has_any(has, ['title', 'body', 'state', 'user', 'author', 'labels', 'url', 'html_url',
             'repository_url', 'node_id', 'pull_request', 'comments', 'updated_at', 'updatedAt', '__typename']) THEN 'item' END AS shape
    FROM objects
), told AS (  -- a webhook is an event without the envelope
    SELECT * EXCLUDE (object), CASE WHEN shape = 'webhook' THEN json_object(
               'type', CASE WHEN list_contains(has, 'comment') AND list_contains(has, 'issue') THEN 'IssueCommentEvent'
                            WHEN list_contains(has, 'issue') THEN 'IssuesEvent'
                            WHEN list_contains(has, 'review') THEN 'PullRequestReviewEvent'
                            WHEN list_contains(has, 'comment') THEN 'PullRequestReviewCommentEvent' ELSE 'PullRequestEvent' END,
               'id', 'webhook-' || md5(object), 'actor', json_extract(object, '$.sender'), 'payload', object,
               'created_at', coalesce(json_extract(object, '$.comment.updated_at'), json_extract(object, '$.issue.updated_at'),
                                      json_extract(object, '$.pull_request.updated_at')))
           ELSE object END AS object
    FROM shaped
), placed AS (
    SELECT *, CASE WHEN shape IN ('happening', 'webhook') THEN coalesce(
                   number_in(json_extract(object, '$.payload.issue.number')), number_in(json_extract(object, '$.payload.pull_request.number')),
                   number_in(json_extract(object, '$.payload.number')),
                   number_at(regexp_extract(json_extract_string(object, '$.url'), '.*/(?:issues|pull)/[0-9]+')))
               WHEN shape = 'comment' THEN number_at(json_extract_string(object, '$.issue_url'))
               WHEN shape = 'event' THEN number_in(json_extract(object, '$.issue.number'))
               WHEN shape = 'item' THEN number_in(json_extract(object, '$.number')) END AS number,
           coalesce(json_extract_string(object, '$.repo.name'), json_extract_string(object, '$.payload.repository.full_name'),
                    json_extract_string(object, '$.repository.owner') || '/' || json_extract_string(object, '$.repository.name'),
                    json_extract_string(object, '$.repository.nameWithOwner'), repo_at(json_extract_string(object, '$.repository_url')),
                    repo_at(json_extract_string(object, '$.issue_url')), repo_at(json_extract_string(object, '$.url')), home, $repo) AS repo
    FROM told
)
SELECT place, nth, has, object, number, CASE WHEN lower(repo) = lower($repo) THEN $repo ELSE repo END AS repo,
       CASE WHEN shape = 'webhook' THEN 'happening' ELSE shape END AS shape
FROM placed
WHERE coalesce(shape, '') <> 'happening'  -- hours of GH Archive hold events of all kinds and repositories
   OR (lower(repo) = lower($repo) AND json_extract_string(object, '$.type') IN
       ('IssuesEvent', 'IssueCommentEvent', 'PullRequestEvent', 'PullRequestReviewEvent', 'PullRequestReviewCommentEvent'));
