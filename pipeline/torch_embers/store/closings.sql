-- Who closed each item, and why each issue was closed: the views closings, issue_closings and item_dispositions.
--
-- What stands against a closing makes the disposition unknown, with both statements: a change that was backed out and did not land again,
-- a mark as duplicate beside a fix, the item's reason beside that of the event, a closing and a reopening of one moment or of an unknown
-- one, and a merge of what is called an issue. The word of a human counts also where it is "unknown". Days in which the tracker decided
-- twice are no order.

CREATE OR REPLACE VIEW closings AS
WITH last_closing AS (  -- an item can be closed several times: the last one counts; ids of one moment are numbers, so that 10 is later than 9
    SELECT repo, number, created_at AS moment, actor, state_reason, other_repo, other_number, commit_sha
    FROM events WHERE type = 'closed'
    QUALIFY row_number() OVER (PARTITION BY repo, number
                               ORDER BY created_at DESC NULLS LAST, actor IS NULL, try_cast(event_id AS HUGEINT) DESC NULLS LAST, event_id) = 1
), merge AS (
    SELECT repo, number, arg_max(actor, created_at) AS actor, arg_max(commit_sha, created_at) AS commit_sha
    FROM events WHERE type = 'merged' GROUP BY ALL
), closed AS (
    SELECT i.repo, i.number, i.kind, coalesce(c.moment, i.closed_at) AS closed_at,
           coalesce(c.actor, i.closed_by, i.merged_by, m.actor) AS closed_by,
           coalesce(nullif(i.state_reason, ''), nullif(c.state_reason, '')) AS reason,
           CASE WHEN c.other_number IS NOT NULL THEN coalesce(c.other_repo, i.repo) END AS closing_repo,
           c.other_number AS closing_number,
           coalesce(c.commit_sha, i.merge_sha, m.commit_sha) AS closing_sha
    FROM items i
    LEFT JOIN last_closing c USING (repo, number)
    LEFT JOIN merge m USING (repo, number)
    WHERE i.state = 'closed' AND i.deleted_at IS NULL
), said AS (  -- "Close with comment" writes both within seconds; five minutes before also catch a comment written first
    SELECT c.repo, c.number, arg_max(o.comment_id, (o.created_at, o.comment_id)) AS comment_id
    FROM closed c JOIN comments o ON o.repo = c.repo AND o.number = c.number AND o.author = c.closed_by
     AND o.created_at BETWEEN c.closed_at - INTERVAL 5 MINUTE AND c.closed_at + INTERVAL 1 MINUTE
    GROUP BY ALL
)
SELECT c.*, s.comment_id AS closing_comment_id, o.body AS closing_comment
FROM closed c
LEFT JOIN said s USING (repo, number)
LEFT JOIN comments o ON o.repo = c.repo AND o.number = c.number AND o.comment_id = s.comment_id;
COMMENT ON VIEW closings IS 'Who closed each closed item, when and why: reason, the pull request or commit that did it, and the closing comment (the last one of the closer between five minutes before the closing and one minute after).';

CREATE OR REPLACE VIEW issue_closings AS
WITH ways (how, disposition, evidence_kind, denies, text) AS (VALUES  -- denies: which readings it contradicts; {}: what is said of that issue
    ('merged', 'unknown', NULL, 'every', 'it was merged, so it is or became a pull request'),
    ('at_odds', 'unknown', NULL, 'fixed', 'the item says {}'),
    ('unordered', 'unknown', NULL, 'none', 'closed or reopened twice at one moment, or at a moment that nobody states'),
    ('fixed_and_marked', 'unknown', NULL, 'fixed', 'a fix is named, and it is marked as a duplicate'),
    ('several_duplicates', 'unknown', NULL, 'every', 'the closing comment calls it a duplicate of {}'),
    ('fixed_and_duplicate', 'unknown', NULL, 'every', 'the last closing calls it fixed, and a duplicate'),
    ('fixed_and_superseded', 'unknown', NULL, 'every', 'the last closing calls it fixed, and superseded by {}'),
    ('fixed_and_declined', 'unknown', NULL, 'every', 'the last closing calls it fixed, and not planned'),
    ('said_duplicate', 'duplicate', 'comment', 'others', 'the closing comment calls it a duplicate of {}'),
    ('duplicate', 'duplicate', 'state_reason', 'others', 'closed as duplicate'),
    ('said_superseded', 'superseded', 'comment', 'others', 'the closing comment calls it superseded by {}'),
    -- "not planned" was also said of duplicates and of what is stale, before the tracker had words for them
    ('declined', 'declined', 'state_reason', 'fixed', 'closed as not planned'),
    ('closing_pull', 'fixed', 'closing_pr', 'others', 'a pull request closed it'),
    ('commit', 'fixed', 'commit', 'others', 'a commit closed it'),
    ('said_fixed', 'fixed', 'comment', 'others', 'the closing comment names what fixed it'),
    ('reopened', 'unknown', NULL, 'none', 'closed and reopened, and the last closing does not say why'),
    ('not_seen', 'unknown', NULL, 'none', 'closed again later, and what closed it then was not seen'),
    ('fixing_pull', 'fixed', 'closing_pr', 'others', 'a merged pull request names it as fixed'),
    ('backed_out', 'unknown', NULL, 'fixed', '{} names it as fixed, and was backed out'),
    ('fixing_commit', 'fixed', 'commit', 'others', 'a commit of the history names it as fixed'),
    ('earlier_pull', 'unknown', NULL, 'none', '{} names it as fixed, and was merged before the report'),
    ('nothing', 'unknown', NULL, 'none', 'no event, comment or merged fix says why it was closed')
), merged AS (  -- NULL where nobody says; pytorch lands most pull requests by a commit, GitHub calls them closed, and its bot labels them
    SELECT repo, number, coalesce(merged_at, closed_at) AS moment,
           CASE WHEN merged_at IS NOT NULL OR coalesce(state_reason, '') = 'merged' OR list_contains(labels, 'Merged') OR (repo, number) IN (
                    SELECT (repo, pull_number) FROM commits WHERE pull_number IS NOT NULL) THEN true
                WHEN state IS NOT NULL THEN false END AS merged
    FROM items WHERE kind = 'pull'
), undone AS (  -- taken out again, by a pull request that is not known to be unmerged, or by a commit
    SELECT l.target_repo AS repo, l.target_number AS number, max(coalesce(p.moment, l.stated_at)) AS moment
    FROM links l LEFT JOIN merged p ON p.repo = l.repo AND p.number = l.number
    WHERE l.relation IN ('reverts', 'backs_out') AND l.target_number IS NOT NULL AND p.merged IS DISTINCT FROM false
    GROUP BY ALL
), landed_again AS (  -- by a pull request that says so and was not taken out itself, or by a later commit of its own
    SELECT l.target_repo AS repo, l.target_number AS number
    FROM links l LEFT JOIN merged p ON p.repo = l.repo AND p.number = l.number ANTI JOIN undone u ON u.repo = l.repo AND u.number = l.number
    WHERE l.relation = 'relands' AND p.merged IS DISTINCT FROM false
    UNION
    SELECT c.repo, c.pull_number FROM commits c JOIN undone u ON u.repo = c.repo AND u.number = c.pull_number AND c.committed_at > u.moment
), backed_out AS (
    SELECT DISTINCT repo, number FROM undone ANTI JOIN landed_again USING (repo, number)
), fixing AS (  -- the last merged one counts; one that was merged before the report cannot have meant it
    SELECT l.target_repo AS repo, l.target_number AS number,
           arg_max(l.number, (p.moment, l.number)) FILTER (is_later AND b.number IS NULL) AS pull,
           max(p.moment) FILTER (is_later AND b.number IS NULL) AS moment,
           min(l.number) FILTER (is_later AND b.number IS NOT NULL) AS backed_out,
           min(l.number) FILTER (NOT is_later) AS earlier
    FROM links l
    JOIN merged p ON p.repo = l.repo AND p.number = l.number
    LEFT JOIN backed_out b ON b.repo = l.repo AND b.number = l.number
    LEFT JOIN items i ON i.repo = l.target_repo AND i.number = l.target_number,
    LATERAL (SELECT coalesce(p.moment >= i.created_at, true) AS is_later)
    WHERE l.relation = 'fixes' AND p.merged
    GROUP BY ALL
), history AS (  -- closings that nobody can order, or that say two things at one moment, are no order
    SELECT repo, number, max(created_at) FILTER (type = 'reopened') AS reopened_at, count(*) FILTER (type = 'reopened') > 0 AS was_reopened,
           arg_max(type, place) FILTER (type IN ('marked_as_duplicate', 'unmarked_as_duplicate')) = 'marked_as_duplicate' AS is_marked,
           arg_max(nullif(state_reason, ''), place) FILTER (type = 'closed') AS reason,
           (count(*) FILTER (type = 'closed' AND created_at IS NULL) > 0 AND count(*) FILTER (type IN ('closed', 'reopened')) > 1)
               OR count(*) FILTER (type = 'reopened' AND (created_at IS NULL OR created_at = last_closed)) > 0
               OR count(DISTINCT coalesce(state_reason, '') || coalesce(commit_sha, '') || coalesce(other_number::VARCHAR, ''))
                  FILTER (type = 'closed' AND created_at = last_closed) > 1 AS is_unordered,
           bool_or(type = 'merged') AS was_merged
    FROM (SELECT *, (created_at, try_cast(event_id AS HUGEINT)) AS place,
                 max(created_at) FILTER (type = 'closed') OVER (PARTITION BY repo, number) AS last_closed
          FROM events WHERE type IN ('closed', 'reopened', 'merged', 'marked_as_duplicate', 'unmarked_as_duplicate'))
    GROUP BY repo, number
), closing AS (  -- what is told of a closing that is not the last one explains nothing
    SELECT c.repo, c.number, c.closed_at, h.reopened_at, coalesce(h.was_reopened, false) AS was_reopened,
           coalesce(h.reopened_at > c.closed_at, false) OR coalesce(i.closed_at > c.closed_at + INTERVAL 1 HOUR, false) AS is_old,
           CASE WHEN NOT is_old THEN c.closed_at
                WHEN i.closed_at > c.closed_at AND coalesce(i.closed_at >= h.reopened_at, true) THEN i.closed_at END AS last_closed_at,
           is_old AND NOT coalesce(h.reopened_at > c.closed_at, false) AS is_reclosed,  -- its reopening was not seen
           -- of a closing that is not the last one the item's own reason speaks, unless it was reopened since: then that is stale
           CASE WHEN NOT is_old THEN c.reason WHEN is_reclosed THEN nullif(i.state_reason, '') END AS reason,
           NOT is_old AND coalesce(i.state_reason IN ('completed', 'not_planned', 'duplicate') AND h.reason IN ('completed', 'not_planned', 'duplicate')
                                   AND i.state_reason <> h.reason, false) AS is_at_odds,
           i.state_reason AS item_reason, h.reason AS event_reason,
           coalesce(h.is_unordered, false) AS is_unordered, coalesce(h.is_marked, false) AS is_marked,
           i.merged_at IS NOT NULL OR i.merge_sha IS NOT NULL OR coalesce(h.was_merged, false) AS was_merged,
           CASE WHEN NOT is_old THEN c.closing_repo END AS closing_repo,
           CASE WHEN NOT is_old THEN c.closing_number END AS closing_number,
           CASE WHEN NOT is_old THEN c.closing_sha END AS closing_sha,
           CASE WHEN NOT is_old THEN c.closing_comment_id END AS closing_comment_id
    FROM closings c
    JOIN items i ON i.repo = c.repo AND i.number = c.number
    LEFT JOIN history h ON h.repo = c.repo AND h.number = c.number
    WHERE coalesce(nullif(c.kind, ''), 'issue') = 'issue'
), fixing_commit AS (  -- of a history that was read, not taken back, not after the closing; where an annotator read the closing, his word stands alone
    SELECT t.repo, t.number, arg_max(t.commit_sha, t.committed_at) AS sha, max(t.committed_at) AS moment
    FROM (SELECT repo, commit_sha, pull_number, committed_at, unnest(issues)::BIGINT AS number
          FROM fix_tests WHERE reason IS NULL OR reason NOT IN ('reverted', 'many_issues')) t
    JOIN items i ON i.repo = t.repo AND i.number = t.number AND coalesce(t.committed_at >= i.created_at, true)
    JOIN closing c ON c.repo = t.repo AND c.number = t.number AND coalesce(t.committed_at <= c.closed_at + INTERVAL 1 DAY, true)
    ANTI JOIN backed_out b ON b.repo = t.repo AND b.number = t.pull_number
    ANTI JOIN dispositions d ON d.repo = t.repo AND d.number = t.number
    GROUP BY ALL
), stated AS (  -- what the closing comment says of the issue; a pull request that is known not to be merged fixed nothing
    SELECT c.repo, c.number,
           list_sort(list(DISTINCT l.target_number) FILTER (
               l.relation = 'duplicates' AND l.number = c.number AND l.target_repo = c.repo)) AS duplicates,
           string_agg(DISTINCT CASE WHEN l.repo = c.repo THEN '' ELSE l.repo END || '#' || l.number, ' and ')
               FILTER (l.relation = 'supersedes' AND l.target_number = c.number) AS superseded_by,
           bool_or(l.relation = 'fixes' AND l.target_number = c.number AND p.merged IS DISTINCT FROM false
                   AND coalesce(p.moment >= i.created_at, true)) AS fixed
    FROM closing c
    JOIN items i ON i.repo = c.repo AND i.number = c.number
    JOIN links l ON l.found_in = 'comment' AND l.found_id = c.closing_comment_id AND c.repo IN (l.repo, l.target_repo)
    LEFT JOIN merged p ON p.repo = l.repo AND p.number = l.number
    WHERE c.closing_comment_id IS NOT NULL
    GROUP BY ALL
), known AS (
    SELECT c.* REPLACE (CASE WHEN s2.number IS NULL THEN c.closing_sha END AS closing_sha),
           CASE WHEN b.number IS NOT NULL THEN '#' || b.number WHEN s2.number IS NOT NULL THEN '#' || s2.number
                WHEN f.pull IS NULL THEN '#' || f.backed_out END AS backed_out,
           CASE WHEN q.merged IS DISTINCT FROM false AND b.number IS NULL
                THEN CASE WHEN c.closing_repo = c.repo THEN '' ELSE c.closing_repo END || '#' || c.closing_number END AS closing_pull,
           '#' || f.pull AS fixing_pull, f.moment AS fixed_at, '#' || f.earlier AS earlier_pull,
           fc.sha AS fixing_sha, fc.moment AS fixing_sha_at,
           coalesce(s.duplicates, []) AS duplicates, s.superseded_by, coalesce(s.fixed, false) AS said_fixed,
           'https://github.com/' || c.repo || '/issues/' || c.number || '#issuecomment-' || c.closing_comment_id AS comment_address
    FROM closing c
    LEFT JOIN merged q ON q.repo = c.closing_repo AND q.number = c.closing_number
    LEFT JOIN backed_out b ON b.repo = c.closing_repo AND b.number = c.closing_number
    LEFT JOIN (SELECT c.repo, c.sha, min(c.pull_number) AS number FROM commits c JOIN backed_out b ON b.repo = c.repo AND b.number = c.pull_number
               GROUP BY ALL) s2 ON s2.repo = c.repo AND s2.sha = c.closing_sha
    LEFT JOIN fixing f ON f.repo = c.repo AND f.number = c.number
    LEFT JOIN fixing_commit fc ON fc.repo = c.repo AND fc.number = c.number
    LEFT JOIN stated s ON s.repo = c.repo AND s.number = c.number
), found AS (  -- the first that holds decides; the last closing speaks also for an issue that had been reopened
    SELECT *,
           closing_pull IS NOT NULL OR closing_sha IS NOT NULL OR said_fixed AS says_fixed,
           CASE WHEN was_merged THEN 'merged'
                WHEN is_at_odds THEN 'at_odds'
                WHEN is_unordered THEN 'unordered'
                WHEN is_marked AND (says_fixed OR fixing_pull IS NOT NULL OR fixing_sha IS NOT NULL) THEN 'fixed_and_marked'
                WHEN len(duplicates) > 1 THEN 'several_duplicates'
                WHEN says_fixed AND (len(duplicates) = 1 OR reason = 'duplicate') THEN 'fixed_and_duplicate'
                WHEN says_fixed AND superseded_by IS NOT NULL THEN 'fixed_and_superseded'
                WHEN says_fixed AND reason = 'not_planned' THEN 'fixed_and_declined'
                WHEN len(duplicates) = 1 THEN 'said_duplicate'
                WHEN reason = 'duplicate' THEN 'duplicate'
                WHEN superseded_by IS NOT NULL THEN 'said_superseded'
                WHEN reason = 'not_planned' THEN 'declined'
                WHEN closing_pull IS NOT NULL THEN 'closing_pull'
                WHEN closing_sha IS NOT NULL THEN 'commit'
                WHEN said_fixed THEN 'said_fixed'
                WHEN was_reopened THEN 'reopened'
                WHEN is_old THEN 'not_seen'
                WHEN fixing_pull IS NOT NULL THEN 'fixing_pull'
                WHEN backed_out IS NOT NULL THEN 'backed_out'
                WHEN fixing_sha IS NOT NULL THEN 'fixing_commit'
                WHEN earlier_pull IS NOT NULL THEN 'earlier_pull'
                ELSE 'nothing' END AS how
    FROM known
)
SELECT repo, number, how, disposition, CASE WHEN how = 'said_duplicate' THEN duplicates[1] END AS duplicate_of, evidence_kind,
       replace(text, '{}', coalesce(CASE WHEN how IN ('said_duplicate', 'several_duplicates') THEN '#' || array_to_string(duplicates, ' and of #')
                                         WHEN how = 'at_odds' THEN item_reason || ', its last closing ' || event_reason
                                         WHEN how = 'backed_out' THEN backed_out
                                         WHEN how = 'earlier_pull' THEN earlier_pull
                                         ELSE superseded_by END, '')) AS evidence,
       CASE WHEN how = 'closing_pull' THEN closing_pull
            WHEN how = 'commit' THEN closing_sha
            WHEN how = 'fixing_commit' THEN fixing_sha
            WHEN how = 'fixing_pull' THEN fixing_pull
            WHEN evidence_kind = 'comment' THEN comment_address END AS evidence_ref,
       (CASE WHEN how = 'fixing_pull' THEN coalesce(fixed_at, last_closed_at) WHEN how = 'fixing_commit' THEN fixing_sha_at
             ELSE last_closed_at END)::DATE AS evidence_date,
       denies, last_closed_at::DATE AS closed_on, reopened_at::DATE AS reopened_on, is_reclosed
FROM found JOIN ways USING (how);
COMMENT ON VIEW issue_closings IS 'What the tracker says of why each closed issue was closed, before any reading: how it is known, the disposition that follows, and which readings that contradicts (denies: every, fixed, others, none).';

CREATE OR REPLACE VIEW item_dispositions AS
WITH ruled AS MATERIALIZED (
    FROM issue_closings
), heard AS (  -- of one issue those of humans count, else all
    FROM dispositions
    QUALIFY annotator_kind = 'human' OR count(*) FILTER (annotator_kind = 'human') OVER (PARTITION BY repo, number) = 0
), compared AS (  -- each beside what the tracker did, by day
    SELECT d.*, r.evidence AS closing, r.evidence_date AS decided_on, r.closed_on, r.reopened_on, r.is_reclosed,
           CASE WHEN d.evidence_ref = r.evidence_ref THEN false  -- the annotator read that very closing
                WHEN r.denies = 'fixed' THEN d.disposition = 'fixed'
                WHEN r.denies = 'others' THEN d.disposition <> r.disposition OR coalesce(d.duplicate_of <> r.duplicate_of, false)
                ELSE r.denies = 'every' END AS differs,
           -- a link from a merged pull request is no decision of the tracker: it counts where it is known to be later
           CASE WHEN r.how = 'merged' THEN true
                WHEN r.how = 'fixing_pull' THEN coalesce(r.evidence_date > d.evidence_date, false)
                ELSE coalesce(r.evidence_date > d.evidence_date OR (r.evidence_date = d.evidence_date AND coalesce(r.reopened_on = d.evidence_date, false)), true) END AS is_later
    FROM heard d JOIN ruled r USING (repo, number)
    WHERE d.disposition <> 'unknown'
), readings AS (
    SELECT *, differs AND is_later AS is_contradicted,
           CASE WHEN reopened_on IS NOT NULL AND coalesce(reopened_on >= evidence_date, true) THEN 'reopened on ' || reopened_on
                WHEN is_reclosed AND coalesce(closed_on > evidence_date, true) THEN 'closed again on ' || closed_on
                END AS moved,
           annotator || ' read ' || disposition || coalesce(' of #' || duplicate_of, '')
               || coalesce(' (' || evidence_date || ')', ', without a day') AS said
    FROM compared
), agreed AS (
    SELECT repo, number, count(DISTINCT (disposition, coalesce(duplicate_of, 0))) > 1 AS is_disputed,
           string_agg(DISTINCT disposition || coalesce(' of #' || duplicate_of, '') || ' (' || annotator || ')', ', '
                      ORDER BY disposition || coalesce(' of #' || duplicate_of, '') || ' (' || annotator || ')') AS said
    FROM readings WHERE moved IS NULL AND NOT is_contradicted GROUP BY ALL
), chosen AS (  -- without an annotator: by the rules above; without a disposition: unknown
    SELECT repo, number, disposition, duplicate_of, evidence_kind, evidence, evidence_ref, evidence_date,
           annotator_kind, annotator, confidence, 0 AS place
    FROM readings SEMI JOIN (FROM agreed WHERE NOT is_disputed) USING (repo, number)
    WHERE moved IS NULL AND NOT is_contradicted
    UNION ALL BY NAME
    SELECT repo, number, 'annotators disagree: ' || said AS evidence, 0 AS place FROM agreed WHERE is_disputed
    UNION ALL BY NAME
    SELECT repo, number,
           said || coalesce(', ' || moved, '') || '; the tracker' || coalesce(' on ' || decided_on, '') || ': ' || closing
               || CASE WHEN evidence_date IS NULL OR decided_on IS NULL THEN '; which is later is not known' ELSE '' END
               AS evidence, 1 AS place
    FROM readings WHERE is_contradicted
    UNION ALL BY NAME
    SELECT repo, number, disposition, duplicate_of, evidence_kind, evidence, evidence_ref, evidence_date,
           CASE WHEN disposition = 'unknown' THEN 5 ELSE 2 END AS place
    FROM ruled
    UNION ALL BY NAME
    SELECT repo, number, evidence, evidence_ref, evidence_date, annotator_kind, annotator, confidence,
           CASE WHEN annotator_kind = 'human' THEN 0 ELSE 3 END AS place
    FROM heard SEMI JOIN ruled USING (repo, number) WHERE disposition = 'unknown'
    UNION ALL BY NAME
    SELECT repo, number, said || '; ' || moved || ', and the last closing does not say why' AS evidence, 4 AS place
    FROM readings WHERE moved IS NOT NULL
), first_of AS (
    SELECT repo, number, coalesce(disposition, 'unknown') AS disposition, duplicate_of, evidence_kind, evidence, evidence_ref, evidence_date,
           coalesce(annotator_kind, 'rule') AS annotator_kind, coalesce(chosen.annotator, 'events and links') AS annotator, confidence
    FROM chosen
    QUALIFY row_number() OVER (PARTITION BY repo, number ORDER BY place, confidence DESC NULLS LAST,
                               coalesce(chosen.annotator, 'events and links'), evidence) = 1
), chained AS (  -- a duplicate of a duplicate: where it is tracked nobody says
    SELECT f.*, f.disposition = 'duplicate' AND coalesce(t.disposition = 'duplicate', false) AS is_chained
    FROM first_of f LEFT JOIN first_of t ON t.repo = f.repo AND t.number = f.duplicate_of
)
SELECT repo, number,
       CASE WHEN is_chained THEN 'unknown' ELSE disposition END AS disposition,
       CASE WHEN NOT is_chained THEN duplicate_of END AS duplicate_of,
       CASE WHEN NOT is_chained THEN evidence_kind END AS evidence_kind,
       CASE WHEN is_chained THEN 'called a duplicate of #' || duplicate_of || ', which is called a duplicate itself'
            ELSE evidence END AS evidence,
       evidence_ref, evidence_date, annotator_kind, annotator, confidence
FROM chained;
COMMENT ON VIEW item_dispositions IS 'The disposition of every closed issue: what annotators read, up to the day of its evidence; else what its last closing says (reason, closing comment, pull request or commit), else which merged pull request names it as fixed, else unknown. Contradictions are unknown, and so is a reading that a later closing contradicts.';
