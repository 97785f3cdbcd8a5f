-- What the tracker decided about an item, and which item a case shows how closely.

CREATE TABLE dispositions (
    repo VARCHAR NOT NULL,
    number INTEGER NOT NULL,
    disposition VARCHAR NOT NULL,
    duplicate_of INTEGER,
    evidence_kind VARCHAR,
    evidence VARCHAR NOT NULL,
    evidence_ref VARCHAR,
    evidence_date DATE,
    annotator_kind VARCHAR NOT NULL,
    annotator VARCHAR NOT NULL,
    confidence DOUBLE,
    source VARCHAR NOT NULL,
    fetched_at TIMESTAMP,
    page_id VARCHAR
);
COMMENT ON TABLE dispositions IS 'What annotators read in the thread of a closed issue: why it was closed, with evidence.';
COMMENT ON COLUMN dispositions.repo IS 'Repository as owner/name.';
COMMENT ON COLUMN dispositions.number IS 'Number of the issue in its repository.';
COMMENT ON COLUMN dispositions.disposition IS 'fixed, declined, duplicate, superseded, stale or unknown.';
COMMENT ON COLUMN dispositions.duplicate_of IS 'The issue it repeats, in the same repository; NULL where it is no duplicate.';
COMMENT ON COLUMN dispositions.evidence_kind IS 'commit, closing_pr, comment, state_reason or event; NULL where nothing was seen.';
COMMENT ON COLUMN dispositions.evidence IS 'What was seen, or why it is unknown, in our own words.';
COMMENT ON COLUMN dispositions.evidence_ref IS 'Pull request as #number, commit, or address of the comment.';
COMMENT ON COLUMN dispositions.evidence_date IS 'Day of the evidence.';
COMMENT ON COLUMN dispositions.annotator_kind IS 'automated or human.';
COMMENT ON COLUMN dispositions.annotator IS 'Name of the annotator.';
COMMENT ON COLUMN dispositions.confidence IS 'How sure the annotator was, 0 to 1.';
COMMENT ON COLUMN dispositions.source IS 'Source of the row: catalog.';
COMMENT ON COLUMN dispositions.fetched_at IS 'When it was read (UTC).';
COMMENT ON COLUMN dispositions.page_id IS 'Raw page it came from.';

ALTER TABLE case_items ADD COLUMN relation VARCHAR;
COMMENT ON COLUMN case_items.relation IS 'same: the input and claim of the report, or a strict reduction of it; sibling: same code or class, other input; NULL: nobody compared them.';

CREATE VIEW item_dispositions AS
WITH fixing AS (
    SELECT l.target_repo AS repo, l.target_number AS number, min(l.number) AS pull,
           min(coalesce(p.merged_at, p.closed_at)) AS moment
    FROM links l JOIN items p ON p.repo = l.repo AND p.number = l.number
    WHERE l.relation = 'fixes' AND (p.merged_at IS NOT NULL OR p.state_reason = 'merged')
    GROUP BY ALL
), closing AS (
    SELECT repo, number, max(created_at) AS moment, arg_max(commit_sha, created_at) AS commit_sha,
           count(*) FILTER (WHERE type = 'reopened') AS reopened
    FROM events WHERE type IN ('closed', 'reopened') GROUP BY ALL
), ruled AS (
    SELECT i.repo, i.number,
           CASE WHEN i.state_reason = 'not_planned' THEN 'declined'
                WHEN i.state_reason = 'duplicate' THEN 'duplicate'
                WHEN c.reopened > 0 THEN 'unknown'
                WHEN coalesce(f.pull::VARCHAR, c.commit_sha) IS NOT NULL THEN 'fixed'
                ELSE 'unknown' END AS disposition,
           CASE WHEN i.state_reason IN ('not_planned', 'duplicate') THEN 'state_reason'
                WHEN c.reopened > 0 THEN NULL
                WHEN f.pull IS NOT NULL THEN 'closing_pr'
                WHEN c.commit_sha IS NOT NULL THEN 'commit' END AS evidence_kind,
           CASE WHEN i.state_reason IN ('not_planned', 'duplicate') THEN 'closed as ' || replace(i.state_reason, '_', ' ')
                WHEN c.reopened > 0 THEN 'closed and reopened: the last closing alone does not say why'
                WHEN f.pull IS NOT NULL THEN 'a merged pull request names it as fixed'
                WHEN c.commit_sha IS NOT NULL THEN 'a commit closed it'
                ELSE 'no event or merged fix says why it was closed' END AS evidence,
           CASE WHEN coalesce(c.reopened, 0) = 0 THEN coalesce('#' || f.pull, c.commit_sha) END AS evidence_ref,
           coalesce(f.moment, c.moment, i.closed_at)::DATE AS evidence_date
    FROM items i
    LEFT JOIN fixing f USING (repo, number)
    LEFT JOIN closing c USING (repo, number)
    WHERE i.state = 'closed' AND coalesce(nullif(i.kind, ''), 'issue') = 'issue' AND i.deleted_at IS NULL
)
SELECT repo, number, disposition, duplicate_of, evidence_kind, evidence, evidence_ref, evidence_date,
       annotator_kind, annotator, confidence
FROM (
    SELECT d.*, 0 AS place FROM dispositions d SEMI JOIN ruled r USING (repo, number)
    UNION ALL BY NAME
    SELECT repo, number, disposition, NULL::INTEGER AS duplicate_of, evidence_kind, evidence, evidence_ref, evidence_date,
           'rule' AS annotator_kind, 'events and links' AS annotator, 1 AS place
    FROM ruled
)
QUALIFY row_number() OVER (
    PARTITION BY repo, number
    ORDER BY disposition = 'unknown', place, annotator_kind = 'automated', confidence DESC
) = 1;
COMMENT ON VIEW item_dispositions IS 'The disposition of every closed issue: what an annotator read, else what events and links say, else unknown.';
