-- What GitHub tells about an item beyond its text: who closed it and why, milestone, lock, type, head commit.

ALTER TABLE items ADD COLUMN milestone_number INTEGER;
ALTER TABLE items ADD COLUMN milestone_due_at TIMESTAMP;
ALTER TABLE items ADD COLUMN locked BOOLEAN;
ALTER TABLE items ADD COLUMN lock_reason VARCHAR;
ALTER TABLE items ADD COLUMN issue_type VARCHAR;
ALTER TABLE items ADD COLUMN closed_by VARCHAR;
ALTER TABLE items ADD COLUMN merged_by VARCHAR;
ALTER TABLE items ADD COLUMN head_sha VARCHAR;
ALTER TABLE items ADD COLUMN check_state VARCHAR;
COMMENT ON COLUMN items.milestone_number IS 'Number of the milestone in its repository.';
COMMENT ON COLUMN items.milestone_due_at IS 'Due date of the milestone (UTC).';
COMMENT ON COLUMN items.locked IS 'Whether the conversation is locked.';
COMMENT ON COLUMN items.lock_reason IS 'off_topic, resolved, spam or too_heated; NULL where it is not locked or no reason was given.';
COMMENT ON COLUMN items.issue_type IS 'Type of the issue, e.g. Bug or Feature, where its organisation uses types; empty where it has none, NULL where no source says.';
COMMENT ON COLUMN items.closed_by IS 'Login of who closed it, where the item itself says so (REST); the view closings asks the events, too.';
COMMENT ON COLUMN items.merged_by IS 'Login of who merged the pull request.';
COMMENT ON COLUMN items.head_sha IS 'Head commit of the pull request.';
COMMENT ON COLUMN items.check_state IS 'All checks of the head commit together: success, failure, error, pending or expected; empty where none ran, NULL where no source says.';

CREATE VIEW closings AS
WITH last_closing AS (  -- an item can be closed several times: the last one counts
    SELECT repo, number, created_at AS moment, actor, state_reason, other_repo, other_number, commit_sha
    FROM events WHERE type = 'closed'
    QUALIFY row_number() OVER (PARTITION BY repo, number ORDER BY created_at DESC NULLS LAST, actor IS NULL, event_id) = 1
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
