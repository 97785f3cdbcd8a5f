-- Why an issue was closed, from everything that its last closing says (view closings); where two statements contradict
-- each other, or one is older than a reopening, nothing is guessed: unknown, with what was seen.

CREATE OR REPLACE VIEW item_dispositions AS
WITH merged AS (  -- NULL where nobody says; pytorch lands most pull requests by a commit, and GitHub calls them closed
    SELECT repo, number, coalesce(merged_at, closed_at) AS moment,
           CASE WHEN merged_at IS NOT NULL OR coalesce(state_reason, '') = 'merged' OR (repo, number) IN (
                    SELECT (repo, pull_number) FROM commits WHERE pull_number IS NOT NULL) THEN true
                WHEN state IS NOT NULL THEN false END AS merged
    FROM items WHERE kind = 'pull'
), fixing AS (  -- the last merged one counts; one that was merged before the report cannot have meant it
    SELECT l.target_repo AS repo, l.target_number AS number,
           arg_max(l.number, (p.moment, l.number)) FILTER (is_later) AS pull, max(p.moment) FILTER (is_later) AS moment,
           min(l.number) FILTER (NOT is_later) AS earlier
    FROM links l
    JOIN merged p ON p.repo = l.repo AND p.number = l.number
    LEFT JOIN items i ON i.repo = l.target_repo AND i.number = l.target_number,
    LATERAL (SELECT coalesce(p.moment >= i.created_at, true) AS is_later)
    WHERE l.relation = 'fixes' AND p.merged
    GROUP BY ALL
), reopened AS (
    SELECT repo, number, max(created_at) AS moment FROM events WHERE type = 'reopened' GROUP BY ALL
), closing AS (  -- what is told of a closing that is not the last one explains nothing
    SELECT c.repo, c.number, c.kind, c.reason, c.closed_at, r.moment AS reopened_at, r.number IS NOT NULL AS was_reopened,
           coalesce(r.moment > c.closed_at, false) OR coalesce(i.closed_at > c.closed_at + INTERVAL 1 HOUR, false) AS is_old,
           CASE WHEN NOT is_old THEN c.closing_repo END AS closing_repo,
           CASE WHEN NOT is_old THEN c.closing_number END AS closing_number,
           CASE WHEN NOT is_old THEN c.closing_sha END AS closing_sha,
           CASE WHEN NOT is_old THEN c.closing_comment_id END AS closing_comment_id
    FROM closings c
    JOIN items i ON i.repo = c.repo AND i.number = c.number
    LEFT JOIN reopened r ON r.repo = c.repo AND r.number = c.number
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
    SELECT c.repo, c.number, c.reason, c.closed_at, c.closing_sha, c.reopened_at, c.was_reopened, c.is_old,
           CASE WHEN q.merged IS DISTINCT FROM false
                THEN CASE WHEN c.closing_repo = c.repo THEN '' ELSE c.closing_repo END || '#' || c.closing_number END AS closing_pull,
           '#' || f.pull AS fixing_pull, f.moment AS fixed_at, '#' || f.earlier AS earlier_pull,
           coalesce(s.duplicates, []) AS duplicates, s.superseded_by, coalesce(s.fixed, false) AS said_fixed,
           'https://github.com/' || c.repo || '/issues/' || c.number || '#issuecomment-' || c.closing_comment_id AS comment_address
    FROM closing c
    LEFT JOIN merged q ON q.repo = c.closing_repo AND q.number = c.closing_number
    LEFT JOIN fixing f ON f.repo = c.repo AND f.number = c.number
    LEFT JOIN stated s ON s.repo = c.repo AND s.number = c.number
    WHERE coalesce(nullif(c.kind, ''), 'issue') = 'issue'
), found AS (  -- the first that holds decides; the last closing speaks also for an issue that had been reopened
    SELECT *,
           closing_pull IS NOT NULL OR closing_sha IS NOT NULL OR said_fixed AS says_fixed,
           CASE WHEN len(duplicates) > 1 THEN 'several_duplicates'
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
                WHEN earlier_pull IS NOT NULL THEN 'earlier_pull'
                ELSE 'nothing' END AS how
    FROM known
), ruled AS (
    SELECT repo, number, reopened_at, CASE WHEN how = 'said_duplicate' THEN duplicates[1] END AS duplicate_of,
           CASE WHEN how IN ('said_duplicate', 'duplicate') THEN 'duplicate'
                WHEN how = 'said_superseded' THEN 'superseded'
                WHEN how = 'declined' THEN 'declined'
                WHEN how IN ('closing_pull', 'commit', 'said_fixed', 'fixing_pull') THEN 'fixed'
                ELSE 'unknown' END AS disposition,
           CASE WHEN how IN ('duplicate', 'declined') THEN 'state_reason'
                WHEN how IN ('closing_pull', 'fixing_pull') THEN 'closing_pr'
                WHEN how = 'commit' THEN 'commit'
                WHEN how LIKE 'said%' THEN 'comment' END AS evidence_kind,
           CASE how WHEN 'said_duplicate' THEN 'the closing comment calls it a duplicate of #' || duplicates[1]
                    WHEN 'said_superseded' THEN 'the closing comment calls it superseded by ' || superseded_by
                    WHEN 'said_fixed' THEN 'the closing comment names what fixed it'
                    WHEN 'duplicate' THEN 'closed as duplicate'
                    WHEN 'declined' THEN 'closed as not planned'
                    WHEN 'closing_pull' THEN 'a pull request closed it'
                    WHEN 'commit' THEN 'a commit closed it'
                    WHEN 'fixing_pull' THEN 'a merged pull request names it as fixed'
                    WHEN 'several_duplicates' THEN 'the closing comment calls it a duplicate of #'
                         || array_to_string(duplicates, ' and of #')
                    WHEN 'fixed_and_duplicate' THEN 'the last closing calls it fixed, and a duplicate'
                    WHEN 'fixed_and_superseded' THEN 'the last closing calls it fixed, and superseded by ' || superseded_by
                    WHEN 'fixed_and_declined' THEN 'the last closing calls it fixed, and not planned'
                    WHEN 'reopened' THEN 'closed and reopened, and the last closing does not say why'
                    WHEN 'not_seen' THEN 'closed again later, and what closed it then was not seen'
                    WHEN 'earlier_pull' THEN earlier_pull || ' names it as fixed, and was merged before the report'
                    ELSE 'no event, comment or merged fix says why it was closed' END AS evidence,
           CASE WHEN how = 'closing_pull' THEN closing_pull
                WHEN how = 'commit' THEN closing_sha
                WHEN how = 'fixing_pull' THEN fixing_pull
                WHEN how LIKE 'said%' THEN comment_address END AS evidence_ref,
           (CASE WHEN how = 'fixing_pull' THEN coalesce(fixed_at, closed_at) ELSE closed_at END)::DATE AS evidence_date
    FROM found
), readings AS (  -- of one issue those of humans count, else all; evidence before a reopening does not explain the last closing
    SELECT d.*, d.evidence_date < r.reopened_at::DATE AS is_old
    FROM dispositions d JOIN ruled r USING (repo, number)
    WHERE d.disposition <> 'unknown'
    QUALIFY annotator_kind = 'human' OR count(*) FILTER (annotator_kind = 'human') OVER (PARTITION BY repo, number) = 0
), agreed AS (
    SELECT repo, number, count(DISTINCT (disposition, coalesce(duplicate_of, 0))) > 1 AS is_disputed,
           string_agg(DISTINCT disposition || coalesce(' of #' || duplicate_of, '') || ' (' || annotator || ')', ', '
                      ORDER BY disposition || coalesce(' of #' || duplicate_of, '') || ' (' || annotator || ')') AS said
    FROM readings WHERE is_old IS NOT true GROUP BY ALL
), chosen AS (
    SELECT repo, number, disposition, duplicate_of, evidence_kind, evidence, evidence_ref, evidence_date,
           annotator_kind, annotator, confidence, 0 AS place
    FROM readings SEMI JOIN (FROM agreed WHERE NOT is_disputed) USING (repo, number) WHERE is_old IS NOT true
    UNION ALL BY NAME
    SELECT repo, number, 'unknown' AS disposition, 'annotators disagree: ' || said AS evidence,
           'rule' AS annotator_kind, 'events and links' AS annotator, 0 AS place
    FROM agreed WHERE is_disputed
    UNION ALL BY NAME
    SELECT repo, number, disposition, duplicate_of, evidence_kind, evidence, evidence_ref, evidence_date,
           'rule' AS annotator_kind, 'events and links' AS annotator,
           CASE WHEN disposition = 'unknown' THEN 4 ELSE 1 END AS place
    FROM ruled
    UNION ALL BY NAME
    SELECT repo, number, 'unknown' AS disposition, evidence, evidence_ref, evidence_date, annotator_kind, annotator,
           confidence, 2 AS place
    FROM dispositions d SEMI JOIN ruled r USING (repo, number) WHERE d.disposition = 'unknown'
    UNION ALL BY NAME
    SELECT repo, number, 'unknown' AS disposition, annotator || ' read ' || disposition || ', from before the reopening' AS evidence,
           annotator_kind, annotator, confidence, 3 AS place
    FROM readings WHERE is_old
), first_of AS (
    FROM chosen
    QUALIFY row_number() OVER (PARTITION BY repo, number ORDER BY place, confidence DESC NULLS LAST, annotator, evidence) = 1
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
COMMENT ON VIEW item_dispositions IS 'The disposition of every closed issue: what annotators read, else what its last closing says (reason, closing comment, pull request or commit), else which merged pull request names it as fixed, else unknown. Contradictions are unknown.';
