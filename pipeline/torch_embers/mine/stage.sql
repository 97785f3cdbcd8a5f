-- From the records of a file (`records`: place, line, json) to objects of `raw`: `staged` has a row per object, `shape` NULL where
-- it is none that we know. What people have: REST, gh issue list, gh api --paginate --slurp (a list of lists), search answers, GraphQL
-- answers, webhooks, events of the API and of GH Archive, and published datasets (`shapes`).

CREATE OR REPLACE TEMP MACRO is_wrapper(has, object) AS  -- CASE: each JSON function reads the whole text, so most records are not asked
    CASE WHEN list_has_any(has, ['number', 'action', 'sha', 'event', 'payload', 'issue_url']) THEN false
         WHEN coalesce(len(has), 0) = 0 THEN json_type(object) = 'ARRAY'
         ELSE coalesce(json_type(object, '$.items') = 'ARRAY' OR json_type(object, '$.nodes') = 'ARRAY' OR json_type(object, '$.data') = 'OBJECT'
             OR list_has_any(has, ['issues', 'pullRequests', 'issueOrPullRequest', 'issue', 'pullRequest']), false) END;

CREATE OR REPLACE TEMP MACRO inside(object) AS
    CASE WHEN json_type(object) = 'ARRAY' THEN TRY_CAST(object AS JSON[])
         WHEN json_type(object, '$.items') = 'ARRAY' THEN TRY_CAST(json_extract(object, '$.items') AS JSON[])
         WHEN json_type(object, '$.nodes') = 'ARRAY' THEN TRY_CAST(json_extract(object, '$.nodes') AS JSON[])
         ELSE [part FOR part IN json_extract(object, ['$.data.repository', '$.data.search', '$.data.node', '$.issues', '$.pullRequests',
                                                      '$.issueOrPullRequest', '$.issue', '$.pullRequest'])
               IF json_type(part) IN ('OBJECT', 'ARRAY')] END;

CREATE OR REPLACE TEMP MACRO number_in(value) AS  -- a usable number of an item: whole and positive
    nullif(try_cast(regexp_extract(value::VARCHAR, '^[0-9]+$') AS INTEGER), 0);

CREATE OR REPLACE TEMP TABLE opened AS  -- wrappers, and what stands in them: `inner_place` is NULL for a wrapper
WITH RECURSIVE pieces AS (
    SELECT place, json AS object, NULL::VARCHAR AS home, has, true AS wraps FROM records WHERE is_wrapper(has, json)
    UNION ALL
    SELECT *, is_wrapper(has, object)
    FROM (SELECT *, json_keys(object) AS has
          FROM (SELECT place, unnest(inside(object)) AS object,
                       coalesce(json_extract_string(object, '$.data.repository.nameWithOwner'), home) AS home FROM pieces WHERE wraps))
)
SELECT place, object, home, has, CASE WHEN NOT wraps THEN row_number() OVER (PARTITION BY place, wraps) END AS inner_place FROM pieces;

SET VARIABLE known_shapes = (SELECT coalesce(list({id: id, requires: requires} ORDER BY place), []) FROM shapes);

CREATE OR REPLACE TEMP TABLE staged AS
WITH objects AS (
    SELECT place, json AS object, NULL::VARCHAR AS home, has, 1 AS inner_place
    FROM records r WHERE json IS NOT NULL AND NOT EXISTS (FROM opened o WHERE o.place = r.place)
    UNION ALL
    FROM opened WHERE inner_place IS NOT NULL
), shaped AS (
    SELECT *, coalesce(
        CASE WHEN list_has_any(has, ['committed', 'payload', 'action', 'issue_url', 'event']) THEN CASE  -- most items have none of them
            WHEN list_has_all(has, ['sha', 'committed', 'message']) THEN 'commit'
            WHEN list_has_all(has, ['type', 'payload']) THEN 'happening'
            WHEN list_contains(has, 'action') AND list_has_any(has, ['issue', 'pull_request']) THEN 'webhook'
            WHEN list_has_all(has, ['issue_url', 'body']) AND NOT list_contains(has, 'number') THEN 'comment'
            WHEN list_has_all(has, ['event', 'issue']) THEN 'event' END END,
        CASE WHEN list_has_any(has, ['updated_at', 'updatedAt', 'node_id', 'author', '__typename']) THEN NULL
             WHEN list_contains(has, 'createdAt') AND json_type(object, '$.labels') = 'ARRAY' THEN NULL
             ELSE 'dataset:' || [s FOR s IN getvariable('known_shapes') IF list_has_all(has, s.requires)][1].id END,
        CASE WHEN list_contains(has, 'number') AND list_has_any(has, ['title', 'body', 'state', 'user', 'author', 'labels', 'url', 'html_url',
             'repository_url', 'node_id', 'pull_request', 'comments', 'updated_at', 'updatedAt', '__typename']) THEN 'item' END) AS shape
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
           -- all of them at once: each JSON function reads the whole text
           json_extract_string(object, ['$.repo.name', '$.payload.repository.full_name', '$.repository.owner', '$.repository.name',
               '$.repository.nameWithOwner', '$.repository_url', '$.issue_url', '$.url', '$.updated_at', '$.updatedAt', '$.comments', '$.type',
               '$.comments[0].url']) AS named
    FROM told
), homed AS (
    SELECT * EXCLUDE (named), coalesce(named[1], named[2], named[3] || '/' || named[4], named[5], repo_at(named[6]), repo_at(named[7]),
                                       repo_at(named[8]), repo_at(named[13]), home) AS said_repo,
           coalesce(named[9], named[10]) AS updated_at, left(named[11], 1) AS comments_begin, named[12] AS type
    FROM placed
), sole AS ( -- an item without comments may name no repository, where the others of the file name one
    SELECT CASE WHEN count(DISTINCT said_repo) = 1 THEN any_value(said_repo) END AS only_repo FROM homed WHERE shape = 'item'
)
SELECT place, before + inner_place AS nth, CASE WHEN shape IS NULL THEN has END AS has, object, number, updated_at,
       coalesce(comments_begin IN ('[', '{'), false) OR list_has_any(has, ['timelineItems', 'files']) AS has_parts,
       CASE WHEN lower(coalesce(said_repo, only_repo, $repo)) = lower($repo) THEN $repo ELSE coalesce(said_repo, only_repo) END AS repo,
       coalesce(said_repo, only_repo) IS NULL AS names_no_repository,
       CASE WHEN shape = 'webhook' THEN 'happening' ELSE shape END AS shape
FROM homed CROSS JOIN sole
JOIN (SELECT place, (sum(count(*)) OVER (ORDER BY place) - count(*))::BIGINT AS before FROM objects GROUP BY place) USING (place)
-- hours of GH Archive hold events of all kinds and repositories
WHERE CASE shape WHEN 'happening' THEN lower(coalesce(said_repo, $repo)) = lower($repo)
      AND regexp_full_match(type, 'IssuesEvent|IssueCommentEvent|PullRequestEvent|PullRequestReviewEvent|PullRequestReviewCommentEvent') ELSE true END;
