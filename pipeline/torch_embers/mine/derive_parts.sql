-- Comments, events, files and links of the items in `touched`, as last said. A list that was read whole at a time leaves
-- no row that was last read before it.

CREATE OR REPLACE TEMP TABLE read_whole AS
SELECT repo, number, part, max(fetched_at) AS at
FROM (SELECT repo, number, fetched_at, unnest(whole) AS part FROM told_items) GROUP BY ALL;

CREATE OR REPLACE TEMP TABLE derived_comments AS
SELECT repo, number, comment_id, author, author_association, created_at, updated_at, body, source, fetched_at, hash AS page_id
FROM said_comments c
WHERE NOT EXISTS (FROM read_whole w WHERE w.part = 'comments' AND w.repo = c.repo AND w.number = c.number AND w.at > c.fetched_at)
QUALIFY row_number() OVER (PARTITION BY repo, comment_id ORDER BY
    CASE WHEN updated_at > fetched_at AND source NOT IN ('graphql', 'rest') THEN NULL ELSE least(updated_at, fetched_at) END
    DESC NULLS LAST, sequence DESC, hash) = 1
    AND NOT bool_or(deleted) OVER (PARTITION BY repo, comment_id);

CREATE OR REPLACE TEMP TABLE derived_events AS
WITH alive AS (
    FROM said_events e
    WHERE type NOT IN ('labeled', 'unlabeled', 'closed', 'reopened', 'renamed', 'marked_as_duplicate', 'cross_referenced', 'merged')
       OR NOT EXISTS (FROM read_whole w WHERE w.part = 'events' AND w.repo = e.repo AND w.number = e.number AND w.at > e.fetched_at)
), one AS (  -- an event does not change, but sources differ in what they say of it
    SELECT repo, event_id, arg_max(number, sequence) AS number, arg_max(type, sequence) AS type,
           arg_max(created_at, sequence) AS created_at, arg_max(actor, sequence) AS actor, arg_max(label, sequence) AS label,
           arg_max(state_reason, sequence) AS state_reason, arg_max(title_from, sequence) AS title_from,
           arg_max(title_to, sequence) AS title_to, arg_max(other_repo, sequence) AS other_repo,
           arg_max(other_number, sequence) AS other_number, arg_max(commit_sha, sequence) AS commit_sha,
           arg_max(will_close, sequence) AS will_close, arg_max(source, sequence) AS source,
           arg_max(fetched_at, sequence) AS fetched_at, arg_max(hash, sequence) AS page_id,
           -- GH Archive has keys of its own, REST had a number or none before it had GitHub's node id
           CASE WHEN starts_with(event_id, 'archive:') THEN 0
                WHEN contains(event_id, ':') OR regexp_full_match(event_id, '[0-9]+') THEN 1 ELSE 2 END AS rank
    FROM alive GROUP BY repo, event_id
)
SELECT * EXCLUDE (rank) FROM one low
WHERE rank = 2 OR NOT EXISTS (  -- of one event under two keys the better key stays
    FROM one high
    WHERE high.repo = low.repo AND high.number = low.number AND high.type = low.type AND low.rank < high.rank
      AND date_trunc('second', high.created_at) = date_trunc('second', low.created_at)
      AND high.actor IS NOT DISTINCT FROM low.actor AND high.label IS NOT DISTINCT FROM low.label
      AND coalesce(high.other_repo = low.other_repo, true) AND coalesce(high.other_number = low.other_number, true)
      AND coalesce(high.commit_sha = low.commit_sha, true)
      AND coalesce(high.title_from = low.title_from, true) AND coalesce(high.title_to = low.title_to, true));

CREATE OR REPLACE TEMP TABLE derived_pull_files AS
SELECT repo, number, path, change, additions, deletions, source, fetched_at, hash AS page_id
FROM said_files f
WHERE NOT EXISTS (FROM read_whole w WHERE w.part = 'files' AND w.repo = f.repo AND w.number = f.number AND w.at > f.fetched_at)
-- two sources that name different files are not added up: a tracker's list leaves none of a git history beside it
QUALIFY (source <> 'git' OR bool_and(source = 'git') OVER (PARTITION BY repo, number))
    AND row_number() OVER (PARTITION BY repo, number, path ORDER BY source <> 'git' DESC, sequence DESC, hash) = 1;

-- Both ends of a link can state it: the end that was read last decides.
CREATE OR REPLACE TEMP TABLE derived_stated_links AS
WITH newest AS (  -- `part` is the list in which `owner` states it
    FROM (SELECT repo, number AS owner, sequence, source, fetched_at, hash, unnest(links, max_depth := 2) FROM told_items) WHERE stated
    QUALIFY sequence = max(sequence) OVER (PARTITION BY repo, owner, part)
), claims AS (
    SELECT repo AS said_in, owner, part, sequence, source, fetched_at, hash,
           unnest([one FOR one IN others IF one.number IS NOT NULL]) AS other
    FROM newest
), links AS (
    SELECT CASE WHEN part IN ('closing_references', 'parent') THEN said_in ELSE there END AS repo,
           CASE WHEN part IN ('closing_references', 'parent') THEN owner ELSE other.number END AS number,
           CASE WHEN part IN ('closing_references', 'parent') THEN there ELSE said_in END AS target_repo,
           CASE WHEN part IN ('closing_references', 'parent') THEN other.number ELSE owner END AS target_number,
           CASE WHEN part IN ('closing_references', 'closed_by') THEN 'fixes' ELSE 'sub_issue_of' END AS relation,
           CASE WHEN part IN ('closing_references', 'closed_by') THEN 'closing_reference' ELSE 'sub_issue' END AS evidence,
           CASE part WHEN 'closing_references' THEN 'closed_by' WHEN 'closed_by' THEN 'closing_references'
                     WHEN 'parent' THEN 'sub_issues' ELSE 'parent' END AS back,
           there, other.number AS there_number, part, sequence, source, fetched_at, hash AS page_id
    FROM (SELECT *, coalesce(other.repository.nameWithOwner, said_in) AS there FROM claims)
), standing AS (
    SELECT l.repo, l.number, l.relation, l.target_repo, l.target_number, l.evidence, l.source, l.fetched_at, l.page_id, l.sequence
    FROM links l LEFT JOIN newest n ON n.repo = l.there AND n.owner = l.there_number AND n.part = l.back AND n.sequence > l.sequence
    WHERE n.repo IS NULL OR EXISTS (FROM links o WHERE o.repo = l.repo AND o.number = l.number AND o.relation = l.relation
        AND o.target_repo = l.target_repo AND o.target_number = l.target_number AND o.part = l.back)
    UNION ALL BY NAME
    SELECT repo, split_part(id, '/', 1)::INTEGER AS number, source, fetched_at, hash AS page_id, sequence,
           unnest(json_transform(json, '{"relation": "VARCHAR", "target_repo": "VARCHAR", "target_number": "INTEGER",
                                         "evidence": "VARCHAR"}'))
    FROM concerned WHERE kind = 'link'
    UNION ALL BY NAME
    FROM catalog_links
)
SELECT * EXCLUDE (sequence) FROM standing
QUALIFY row_number() OVER (PARTITION BY repo, number, relation, target_repo, target_number, evidence ORDER BY sequence DESC) = 1;
