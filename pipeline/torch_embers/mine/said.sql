-- What each raw object says of its item, one column per fact; NULL: it does not say. Reads `concerned`, rows of `raw`.
-- One view for all sources and shapes: REST and search, GraphQL and gh, the catalog, issues and pull requests inside events.

CREATE OR REPLACE TEMP VIEW said_items AS
WITH objects AS (
    SELECT repo, split_part(id, '/', 1)::INTEGER AS number, source, said_at, sequence, fetched_at, hash,
           CASE WHEN kind = 'item' THEN json
                ELSE coalesce(json_extract(json, '$.payload.issue'), json_extract(json, '$.payload.pull_request')) END AS object,
           kind = 'item' AND source <> 'catalog' AS may_link,
           CASE WHEN kind = 'happening' THEN json_transform(json, '{"type": "VARCHAR", "created_at": "VARCHAR", "actor": "JSON",
               "payload": {"action": "VARCHAR", "changes": {"new_repository": {"full_name": "VARCHAR"},
                           "new_issue": {"number": "INTEGER"}}}}') END AS event
    FROM concerned WHERE kind IN ('item', 'happening')
), parsed AS (
    SELECT * EXCLUDE (object), json_keys(object) AS has, json_transform(object, '{
        "absent": "BOOLEAN", "whole": ["VARCHAR"], "transferred_to": "VARCHAR",
        "kind": "VARCHAR", "__typename": "VARCHAR", "title": "VARCHAR", "body": "VARCHAR", "url": "VARCHAR",
        "user": {"login": "VARCHAR", "__typename": "VARCHAR"}, "author": {"login": "VARCHAR", "__typename": "VARCHAR"},
        "author_association": "VARCHAR", "authorAssociation": "VARCHAR",
        "state": "VARCHAR", "pullState": "VARCHAR", "state_reason": "VARCHAR", "stateReason": "VARCHAR",
        "draft": "BOOLEAN", "isDraft": "BOOLEAN", "merged": "BOOLEAN", "merged_at": "VARCHAR", "mergedAt": "VARCHAR",
        "merge_commit_sha": "VARCHAR", "mergeCommit": {"oid": "VARCHAR"},
        "merged_by": {"login": "VARCHAR", "__typename": "VARCHAR"}, "mergedBy": {"login": "VARCHAR", "__typename": "VARCHAR"},
        "closed_by": {"login": "VARCHAR", "__typename": "VARCHAR"},
        "base": {"ref": "VARCHAR"}, "head": {"ref": "VARCHAR", "sha": "VARCHAR"},
        "baseRefName": "VARCHAR", "headRefName": "VARCHAR", "headRefOid": "VARCHAR",
        "pull_request": "JSON", "statusCheckRollup": {"state": "VARCHAR"},
        "milestone": {"title": "VARCHAR", "number": "INTEGER", "due_on": "VARCHAR", "dueOn": "VARCHAR"},
        "created_at": "VARCHAR", "createdAt": "VARCHAR", "closed_at": "VARCHAR", "closedAt": "VARCHAR",
        "comments": "JSON", "reactions": {"total_count": "INTEGER", "totalCount": "INTEGER"}, "labels": "JSON",
        "locked": "BOOLEAN", "active_lock_reason": "VARCHAR", "activeLockReason": "VARCHAR",
        "type": {"name": "VARCHAR"}, "issueType": {"name": "VARCHAR"},
        "closingIssuesReferences": {"nodes": [{"number": "INTEGER", "repository": {"nameWithOwner": "VARCHAR"}}]},
        "closedByPullRequestsReferences": {"nodes": [{"number": "INTEGER", "repository": {"nameWithOwner": "VARCHAR"}}]},
        "subIssues": {"nodes": [{"number": "INTEGER", "repository": {"nameWithOwner": "VARCHAR"}}]},
        "parent": {"number": "INTEGER", "repository": {"nameWithOwner": "VARCHAR"}}, "parent_issue_url": "VARCHAR"}') AS o
    FROM objects
), read AS (
    SELECT *, coalesce(event.payload.action, '') AS action, moment(event.created_at) AS happened_at,
           coalesce(o.absent, false) AS absent,
           -- in REST an issue that is a pull request links to it; before 2013 every issue had such a link, of null addresses
           coalesce(o.__typename = 'PullRequest' OR event.type LIKE 'PullRequest%'
                    OR list_has_all(has, ['base', 'head']) OR list_has_any(has, ['headRefName', 'isDraft', 'mergedAt', 'mergedBy', 'mergeCommit']) OR o.state = 'MERGED'
                    OR contains(o.url, '/pull/')
                    OR (o.pull_request IS NOT NULL AND json_extract(o.pull_request, '$.html_url') IS DISTINCT FROM 'null'), false)
               AS is_pull,
           coalesce(json_extract_string(o.pull_request, '$.merged_at'), o.merged_at, o.mergedAt) AS merge_moment
    FROM parsed
), settled AS (
    SELECT *,
           coalesce(merge_moment IS NOT NULL OR o.merged OR o.state = 'MERGED' OR (is_pull AND action = 'merged'), false) AS is_merged,
           CASE WHEN 'OPEN' IN (upper(o.state), upper(o.pullState)) THEN 'open'
                WHEN upper(coalesce(o.state, o.pullState)) IN ('CLOSED', 'MERGED') THEN 'closed'
                WHEN event.type IN ('IssuesEvent', 'PullRequestEvent') AND action IN ('opened', 'reopened') THEN 'open'
                WHEN event.type IN ('IssuesEvent', 'PullRequestEvent') AND action IN ('closed', 'merged') THEN 'closed' END AS state_now
    FROM read
)
SELECT repo, number, source, said_at, sequence, fetched_at, hash, o.whole AS whole,
       -- what a git history says ranks lowest; undated ones rank below, and so does a record of a file with a time of the future; a live one is never newer than its reading
       CASE WHEN source = 'git' THEN 0 WHEN said_at <= fetched_at OR (said_at IS NOT NULL AND source IN ('graphql', 'rest')) THEN 2 ELSE 1 END AS rank,
       CASE WHEN source IN ('graphql', 'rest') AND said_at > fetched_at THEN fetched_at ELSE said_at END AS moment,
       CASE WHEN absent THEN NULL WHEN list_contains(has, 'kind') THEN o.kind WHEN is_pull THEN 'pull'
            WHEN o IS NULL AND event.type = 'IssueCommentEvent' THEN NULL ELSE 'issue' END AS kind,
       o.title AS title,
       stated(o.body, has, ['body']) AS body,
       stated(coalesce(account(o.user), account(o.author)), has, ['user', 'author']) AS author,
       coalesce(o.author_association, o.authorAssociation) AS author_association,
       state_now AS state,
       CASE WHEN is_merged THEN 'merged'
            WHEN coalesce(o.state_reason, o.stateReason) IS NOT NULL THEN lower(coalesce(o.state_reason, o.stateReason))
            WHEN state_now = 'closed' AND source <> 'catalog' AND (list_has_any(has, ['state_reason', 'stateReason', '__typename']) OR o.merged = false
                 OR json_extract(o.pull_request, '$.merged_at') = 'null') THEN '' END AS state_reason,
       coalesce(o.draft, o.isDraft) AS is_draft,
       CASE WHEN is_merged THEN coalesce(moment(merge_moment), moment(o.closed_at), CASE WHEN action = 'merged' THEN happened_at END)
            END AS merged_at,
       CASE WHEN is_merged THEN coalesce(o.merge_commit_sha, o.mergeCommit.oid) END AS merge_sha,
       coalesce(o.base.ref, o.baseRefName) AS base_ref,
       coalesce(o.head.ref, o.headRefName) AS head_ref,
       coalesce(o.head.sha, o.headRefOid) AS head_sha,
       stated(o.milestone.title, has, ['milestone']) AS milestone,
       o.milestone.number AS milestone_number,
       moment(coalesce(o.milestone.due_on, o.milestone.dueOn)) AS milestone_due_at,
       coalesce(moment(o.created_at), moment(o.createdAt)) AS created_at,
       CASE WHEN source <> 'git' THEN said_at END AS updated_at,  -- what a history says of an item is dated by its landing
       coalesce(moment(o.closed_at), moment(o.closedAt),
                CASE WHEN state_now = 'closed' AND event.type = 'PullRequestEvent' AND action IN ('closed', 'merged')
                     THEN happened_at END) AS closed_at,
       count_of(o.comments) AS comment_count,
       coalesce(o.reactions.total_count, o.reactions.totalCount) AS reaction_count,
       CASE WHEN source = 'catalog' THEN nullif(names_of(o.labels), []) ELSE names_of(o.labels) END AS labels,
       o.locked AS locked,
       word(coalesce(o.active_lock_reason, o.activeLockReason)) AS lock_reason,
       stated(coalesce(o.type.name, o.issueType.name), has, ['type', 'issueType']) AS issue_type,
       -- of a pull request null says nothing: who merged it closed it
       stated(account(o.closed_by), CASE WHEN NOT is_pull THEN has ELSE [] END, ['closed_by']) AS closed_by,
       coalesce(account(o.merged_by), account(o.mergedBy)) AS merged_by,
       stated(lower(o.statusCheckRollup.state), has, ['statusCheckRollup']) AS check_state,
       CASE WHEN list_contains(o.whole, 'events') THEN true END AS history,
       CASE WHEN absent THEN fetched_at WHEN event.type = 'IssuesEvent' AND action IN ('deleted', 'transferred') THEN happened_at END
           AS deleted_at,
       CASE WHEN absent THEN o.transferred_to
            WHEN action = 'transferred' THEN event.payload.changes.new_repository.full_name || '#' || event.payload.changes.new_issue.number
            END AS transferred_to,
       -- the pull requests that fix an issue, parents and sub-issues: lists of other items
       CASE WHEN may_link AND list_has_any(has, ['closingIssuesReferences', 'closedByPullRequestsReferences', 'subIssues', 'parent',
                                                 'parent_issue_url']) THEN [
           {'part': 'closing_references', 'stated': o.closingIssuesReferences.nodes IS NOT NULL, 'others': o.closingIssuesReferences.nodes},
           {'part': 'closed_by', 'stated': o.closedByPullRequestsReferences.nodes IS NOT NULL,
            'others': o.closedByPullRequestsReferences.nodes},
           {'part': 'sub_issues', 'stated': o.subIssues.nodes IS NOT NULL, 'others': o.subIssues.nodes},
           {'part': 'parent', 'stated': list_has_any(has, ['parent', 'parent_issue_url']),
            'others': [coalesce(o.parent, CASE WHEN number_at(o.parent_issue_url) IS NOT NULL THEN
                {'number': number_at(o.parent_issue_url), 'repository': {'nameWithOwner': repo_at(o.parent_issue_url)}} END)]}] END AS links
FROM settled;
