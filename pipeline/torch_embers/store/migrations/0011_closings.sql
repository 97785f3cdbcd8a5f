-- Why an issue was closed, from everything that its last closing says: the pull request or commit that did it, and the
-- words with which it was closed (view closings).

CREATE OR REPLACE VIEW item_dispositions AS
WITH merged AS (  -- NULL where nobody says; pytorch lands most pull requests by a commit, and GitHub calls them closed
    SELECT repo, number, coalesce(merged_at, closed_at) AS moment,
           CASE WHEN merged_at IS NOT NULL OR coalesce(state_reason, '') = 'merged' OR (repo, number) IN (
                    SELECT (repo, pull_number) FROM commits WHERE pull_number IS NOT NULL) THEN true
                WHEN state IS NOT NULL THEN false END AS merged
    FROM items WHERE kind = 'pull'
), fixing AS (
    SELECT l.target_repo AS repo, l.target_number AS number, min(l.number) AS pull, min(p.moment) AS moment
    FROM links l JOIN merged p ON p.repo = l.repo AND p.number = l.number
    WHERE l.relation = 'fixes' AND p.merged
    GROUP BY ALL
), reopened AS (
    SELECT DISTINCT repo, number FROM events WHERE type = 'reopened'
), stated AS (  -- what the closing comment says of the issue; a pull request that is known not to be merged fixed nothing
    SELECT c.repo, c.number,
           min(l.target_number) FILTER (l.relation = 'duplicates' AND l.number = c.number AND l.target_repo = c.repo) AS duplicate_of,
           min(CASE WHEN l.repo = c.repo THEN '' ELSE l.repo END || '#' || l.number)
               FILTER (l.relation = 'supersedes' AND l.target_number = c.number) AS superseded_by,
           bool_or(l.relation = 'fixes' AND l.target_number = c.number AND p.merged IS DISTINCT FROM false) AS fixed
    FROM closings c
    JOIN links l ON l.found_in = 'comment' AND l.found_id = c.closing_comment_id AND c.repo IN (l.repo, l.target_repo)
    LEFT JOIN merged p ON p.repo = l.repo AND p.number = l.number
    WHERE c.closing_comment_id IS NOT NULL
    GROUP BY ALL
), known AS (
    SELECT c.repo, c.number, c.reason, c.closed_at, c.closing_sha,
           CASE WHEN q.merged IS DISTINCT FROM false
                THEN CASE WHEN c.closing_repo = c.repo THEN '' ELSE c.closing_repo END || '#' || c.closing_number END AS closing_pull,
           '#' || f.pull AS fixing_pull, f.moment AS fixed_at, s.duplicate_of, s.superseded_by, coalesce(s.fixed, false) AS said_fixed,
           'https://github.com/' || c.repo || '/issues/' || c.number || '#issuecomment-' || c.closing_comment_id AS comment_address,
           EXISTS (FROM reopened r WHERE r.repo = c.repo AND r.number = c.number) AS was_reopened
    FROM closings c
    LEFT JOIN merged q ON q.repo = c.closing_repo AND q.number = c.closing_number
    LEFT JOIN fixing f ON f.repo = c.repo AND f.number = c.number
    LEFT JOIN stated s ON s.repo = c.repo AND s.number = c.number
    WHERE coalesce(nullif(c.kind, ''), 'issue') = 'issue'
), found AS (  -- the first that holds decides; the last closing speaks also for an issue that had been reopened
    SELECT *, CASE
        WHEN duplicate_of IS NOT NULL THEN 'said_duplicate'
        WHEN reason = 'duplicate' THEN 'duplicate'
        WHEN superseded_by IS NOT NULL THEN 'said_superseded'
        WHEN reason = 'not_planned' THEN 'declined'
        WHEN closing_pull IS NOT NULL THEN 'closing_pull'
        WHEN closing_sha IS NOT NULL THEN 'commit'
        WHEN said_fixed THEN 'said_fixed'
        WHEN was_reopened THEN 'reopened'
        WHEN fixing_pull IS NOT NULL THEN 'fixing_pull'
        ELSE 'nothing' END AS how
    FROM known
), ruled AS (
    SELECT repo, number, duplicate_of,
           CASE WHEN how IN ('said_duplicate', 'duplicate') THEN 'duplicate'
                WHEN how = 'said_superseded' THEN 'superseded'
                WHEN how = 'declined' THEN 'declined'
                WHEN how IN ('reopened', 'nothing') THEN 'unknown'
                ELSE 'fixed' END AS disposition,
           CASE WHEN how IN ('duplicate', 'declined') THEN 'state_reason'
                WHEN how IN ('closing_pull', 'fixing_pull') THEN 'closing_pr'
                WHEN how = 'commit' THEN 'commit'
                WHEN how LIKE 'said%' THEN 'comment' END AS evidence_kind,
           CASE how WHEN 'said_duplicate' THEN 'the closing comment calls it a duplicate of #' || duplicate_of
                    WHEN 'said_superseded' THEN 'the closing comment calls it superseded by ' || superseded_by
                    WHEN 'said_fixed' THEN 'the closing comment names what fixed it'
                    WHEN 'duplicate' THEN 'closed as duplicate'
                    WHEN 'declined' THEN 'closed as not planned'
                    WHEN 'closing_pull' THEN 'a pull request closed it'
                    WHEN 'commit' THEN 'a commit closed it'
                    WHEN 'fixing_pull' THEN 'a merged pull request names it as fixed'
                    WHEN 'reopened' THEN 'closed and reopened, and the last closing does not say why'
                    ELSE 'no event, comment or merged fix says why it was closed' END AS evidence,
           CASE WHEN how = 'closing_pull' THEN closing_pull
                WHEN how = 'commit' THEN closing_sha
                WHEN how = 'fixing_pull' THEN fixing_pull
                WHEN how LIKE 'said%' THEN comment_address END AS evidence_ref,
           (CASE WHEN how = 'fixing_pull' THEN coalesce(fixed_at, closed_at) ELSE closed_at END)::DATE AS evidence_date
    FROM found
)
SELECT repo, number, disposition, duplicate_of, evidence_kind, evidence, evidence_ref, evidence_date,
       annotator_kind, annotator, confidence
FROM (
    SELECT d.*, 0 AS place FROM dispositions d SEMI JOIN ruled r USING (repo, number)
    UNION ALL BY NAME
    SELECT repo, number, disposition, duplicate_of, evidence_kind, evidence, evidence_ref, evidence_date,
           'rule' AS annotator_kind, 'events and links' AS annotator, 1 AS place
    FROM ruled
)
QUALIFY row_number() OVER (
    PARTITION BY repo, number
    ORDER BY disposition = 'unknown', place, annotator_kind = 'automated', confidence DESC
) = 1;
COMMENT ON VIEW item_dispositions IS 'The disposition of every closed issue: what an annotator read, else what its last closing says (reason, closing comment, pull request or commit), else which merged pull request names it as fixed, else unknown.';
