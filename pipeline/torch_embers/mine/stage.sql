-- From the records of a file (`records`: place, line, json) to objects of `raw`: `staged` has a row per object, `shape` NULL where
-- it is none that we know. What people have: REST, gh issue list, gh api --paginate --slurp (a list of lists), search answers, GraphQL
-- answers, webhooks, events of the API and of GH Archive, and published datasets (`shapes`).

CREATE OR REPLACE TEMP MACRO is_wrapper(object) AS  -- CASE: each JSON function reads the whole text, so most records are asked once
    CASE WHEN list_has_any(json_keys(object), ['number', 'action', 'sha', 'event', 'payload', 'issue_url']) THEN false
         WHEN json_type(object) = 'ARRAY' THEN true
         WHEN json_type(object) = 'OBJECT'
         THEN coalesce(json_type(object, '$.items') = 'ARRAY' OR json_type(object, '$.nodes') = 'ARRAY' OR json_type(object, '$.data') = 'OBJECT'
             OR list_has_any(json_keys(object), ['issues', 'pullRequests', 'issueOrPullRequest', 'issue', 'pullRequest']), false)
         ELSE false END;

CREATE OR REPLACE TEMP MACRO inside(object) AS
    CASE WHEN json_type(object) = 'ARRAY' THEN TRY_CAST(object AS JSON[])
         WHEN json_type(object, '$.items') = 'ARRAY' THEN TRY_CAST(json_extract(object, '$.items') AS JSON[])
         WHEN json_type(object, '$.nodes') = 'ARRAY' THEN TRY_CAST(json_extract(object, '$.nodes') AS JSON[])
         ELSE [part FOR part IN json_extract(object, ['$.data.repository', '$.data.search', '$.data.node', '$.issues', '$.pullRequests',
                                                      '$.issueOrPullRequest', '$.issue', '$.pullRequest'])
               IF json_type(part) IN ('OBJECT', 'ARRAY')] END;

CREATE OR REPLACE TEMP MACRO number_in(value) AS  -- a usable number of an item: whole and positive
    nullif(try_cast(regexp_extract(value::VARCHAR, '^[0-9]+$') AS INTEGER), 0);

CREATE OR REPLACE TEMP TABLE objects AS
WITH RECURSIVE opened AS (  -- only wrappers go round: most files have none
    SELECT place, json AS object, NULL::VARCHAR AS home FROM records WHERE is_wrapper(json)
    UNION ALL
    SELECT place, unnest(inside(object)), coalesce(json_extract_string(object, '$.data.repository.nameWithOwner'), home)
    FROM opened WHERE is_wrapper(object)
), bare AS (
    SELECT place, json AS object, NULL::VARCHAR AS home FROM records WHERE json IS NOT NULL AND NOT is_wrapper(json)
    UNION ALL
    FROM opened WHERE NOT is_wrapper(object)
)
SELECT place, object, home, row_number() OVER (ORDER BY place) AS nth, coalesce(json_keys(object), []) AS has FROM bare;

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
             AND len([s FOR s IN known_shapes IF list_has_all(has, s.requires)]) > 0
            THEN 'dataset:' || [s FOR s IN known_shapes IF list_has_all(has, s.requires)][1].id
        WHEN list_contains(has, 'number') AND list_has_any(has, ['title', 'body', 'state', 'user', 'author', 'labels', 'url', 'html_url',
             'repository_url', 'node_id', 'pull_request', 'comments', 'updated_at', 'updatedAt', '__typename']) THEN 'item' END AS shape
    FROM objects, (SELECT coalesce(list({id: id, requires: requires} ORDER BY place), []) AS known_shapes FROM shapes)
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
           json_extract_string(object, ['$.repo.name', '$.payload.repository.full_name', '$.repository.owner', '$.repository.name',
               '$.repository.nameWithOwner', '$.repository_url', '$.issue_url', '$.url']) AS named
    FROM told
), homed AS (
    SELECT * EXCLUDE (named), coalesce(named[1], named[2], named[3] || '/' || named[4], named[5], repo_at(named[6]), repo_at(named[7]),
                                       repo_at(named[8]), home, $repo) AS repo
    FROM placed
)
SELECT place, nth, has, object, number, CASE WHEN lower(repo) = lower($repo) THEN $repo ELSE repo END AS repo,
       CASE WHEN shape = 'webhook' THEN 'happening' ELSE shape END AS shape
FROM homed
WHERE coalesce(shape, '') <> 'happening'  -- hours of GH Archive hold events of all kinds and repositories
   -- a list: for IN every record would go through a join
   OR (lower(repo) = lower($repo) AND list_contains(['IssuesEvent', 'IssueCommentEvent', 'PullRequestEvent', 'PullRequestReviewEvent',
                                                     'PullRequestReviewCommentEvent'], json_extract_string(object, '$.type')));
