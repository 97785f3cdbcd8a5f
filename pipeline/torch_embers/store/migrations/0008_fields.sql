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

CREATE TABLE reviews (
    repo VARCHAR NOT NULL,
    number INTEGER NOT NULL,
    review_id VARCHAR NOT NULL,
    author VARCHAR,
    author_association VARCHAR,
    state VARCHAR,
    body VARCHAR,
    commit_sha VARCHAR,
    submitted_at TIMESTAMP,
    updated_at TIMESTAMP,
    comment_count INTEGER,
    source VARCHAR,
    fetched_at TIMESTAMP,
    page_id VARCHAR
);
COMMENT ON TABLE reviews IS 'Reviews of pull requests.';
COMMENT ON COLUMN reviews.repo IS 'Repository as owner/name.';
COMMENT ON COLUMN reviews.number IS 'Number of the issue or pull request in its repository.';
COMMENT ON COLUMN reviews.review_id IS 'GitHub''s id of the review.';
COMMENT ON COLUMN reviews.author IS 'Login of the author.';
COMMENT ON COLUMN reviews.author_association IS 'MEMBER, CONTRIBUTOR, NONE ...';
COMMENT ON COLUMN reviews.state IS 'approved, changes_requested, commented, dismissed or pending.';
COMMENT ON COLUMN reviews.body IS 'Text of the review itself; comments on lines are in review_comments.';
COMMENT ON COLUMN reviews.commit_sha IS 'Commit that was reviewed.';
COMMENT ON COLUMN reviews.submitted_at IS 'Submitted (UTC).';
COMMENT ON COLUMN reviews.updated_at IS 'Last edit (UTC).';
COMMENT ON COLUMN reviews.comment_count IS 'Comments on lines, as GitHub counts them.';
COMMENT ON COLUMN reviews.source IS 'Where the row came from: graphql, rest or archive.';
COMMENT ON COLUMN reviews.fetched_at IS 'When that source was read (UTC).';
COMMENT ON COLUMN reviews.page_id IS 'The raw page (raw_pages.page_id) the row was read from.';

CREATE TABLE review_comments (
    repo VARCHAR NOT NULL,
    number INTEGER NOT NULL,
    comment_id VARCHAR NOT NULL,
    review_id VARCHAR,
    reply_to VARCHAR,
    author VARCHAR,
    author_association VARCHAR,
    path VARCHAR,
    line INTEGER,
    original_line INTEGER,
    commit_sha VARCHAR,
    created_at TIMESTAMP,
    updated_at TIMESTAMP,
    body VARCHAR,
    source VARCHAR,
    fetched_at TIMESTAMP,
    page_id VARCHAR
);
COMMENT ON TABLE review_comments IS 'Comments on lines of the files that pull requests change.';
COMMENT ON COLUMN review_comments.repo IS 'Repository as owner/name.';
COMMENT ON COLUMN review_comments.number IS 'Number of the issue or pull request in its repository.';
COMMENT ON COLUMN review_comments.comment_id IS 'GitHub''s id of the comment; its series is another than that of comments.';
COMMENT ON COLUMN review_comments.review_id IS 'Review it belongs to.';
COMMENT ON COLUMN review_comments.reply_to IS 'Comment it answers.';
COMMENT ON COLUMN review_comments.author IS 'Login of the author.';
COMMENT ON COLUMN review_comments.author_association IS 'MEMBER, CONTRIBUTOR, NONE ...';
COMMENT ON COLUMN review_comments.path IS 'File.';
COMMENT ON COLUMN review_comments.line IS 'Line of the present file; NULL where the comment is outdated or on a whole file.';
COMMENT ON COLUMN review_comments.original_line IS 'Line of the file as it was commented on.';
COMMENT ON COLUMN review_comments.commit_sha IS 'Commit it was written on.';
COMMENT ON COLUMN review_comments.created_at IS 'Posted (UTC).';
COMMENT ON COLUMN review_comments.updated_at IS 'Last edit (UTC).';
COMMENT ON COLUMN review_comments.body IS 'Text.';
COMMENT ON COLUMN review_comments.source IS 'Where the row came from: graphql, rest or archive.';
COMMENT ON COLUMN review_comments.fetched_at IS 'When that source was read (UTC).';
COMMENT ON COLUMN review_comments.page_id IS 'The raw page (raw_pages.page_id) the row was read from.';

CREATE TABLE pull_commits (
    repo VARCHAR NOT NULL,
    number INTEGER NOT NULL,
    sha VARCHAR NOT NULL,
    author VARCHAR,
    author_login VARCHAR,
    authored_at TIMESTAMP,
    committed_at TIMESTAMP,
    message VARCHAR,
    source VARCHAR,
    fetched_at TIMESTAMP,
    page_id VARCHAR
);
COMMENT ON TABLE pull_commits IS 'Commits of the branches of pull requests, also of those that never landed.';
COMMENT ON COLUMN pull_commits.repo IS 'Repository as owner/name.';
COMMENT ON COLUMN pull_commits.number IS 'Number of the issue or pull request in its repository.';
COMMENT ON COLUMN pull_commits.sha IS 'Commit hash.';
COMMENT ON COLUMN pull_commits.author IS 'Author''s name.';
COMMENT ON COLUMN pull_commits.author_login IS 'Login of the author, where GitHub knows the address.';
COMMENT ON COLUMN pull_commits.authored_at IS 'Authored (UTC).';
COMMENT ON COLUMN pull_commits.committed_at IS 'Committed (UTC).';
COMMENT ON COLUMN pull_commits.message IS 'Whole message.';
COMMENT ON COLUMN pull_commits.source IS 'Where the row came from: graphql, rest or archive.';
COMMENT ON COLUMN pull_commits.fetched_at IS 'When that source was read (UTC).';
COMMENT ON COLUMN pull_commits.page_id IS 'The raw page (raw_pages.page_id) the row was read from.';

CREATE TABLE checks (
    repo VARCHAR NOT NULL,
    number INTEGER NOT NULL,
    kind VARCHAR NOT NULL,
    state VARCHAR NOT NULL,
    checks INTEGER NOT NULL,
    sha VARCHAR,
    source VARCHAR,
    fetched_at TIMESTAMP,
    page_id VARCHAR
);
COMMENT ON TABLE checks IS 'Checks of the head commit of pull requests: how many are in each state. Their common state is items.check_state.';
COMMENT ON COLUMN checks.repo IS 'Repository as owner/name.';
COMMENT ON COLUMN checks.number IS 'Number of the issue or pull request in its repository.';
COMMENT ON COLUMN checks.kind IS 'check_run (GitHub Actions and other apps) or status_context (older commit statuses).';
COMMENT ON COLUMN checks.state IS 'success, failure, cancelled, skipped, neutral, timed_out, in_progress, pending ...';
COMMENT ON COLUMN checks.checks IS 'How many.';
COMMENT ON COLUMN checks.sha IS 'The head commit.';
COMMENT ON COLUMN checks.source IS 'Where the row came from: graphql, rest or archive.';
COMMENT ON COLUMN checks.fetched_at IS 'When that source was read (UTC).';
COMMENT ON COLUMN checks.page_id IS 'The raw page (raw_pages.page_id) the row was read from.';

CREATE TABLE item_people (
    repo VARCHAR NOT NULL,
    number INTEGER NOT NULL,
    role VARCHAR NOT NULL,
    login VARCHAR NOT NULL,
    source VARCHAR,
    fetched_at TIMESTAMP,
    page_id VARCHAR
);
COMMENT ON TABLE item_people IS 'Whom items are assigned to, and who was asked to review them and has not yet.';
COMMENT ON COLUMN item_people.repo IS 'Repository as owner/name.';
COMMENT ON COLUMN item_people.number IS 'Number of the issue or pull request in its repository.';
COMMENT ON COLUMN item_people.role IS 'assignee or reviewer.';
COMMENT ON COLUMN item_people.login IS 'Login of a user; a team is organisation/team.';
COMMENT ON COLUMN item_people.source IS 'Where the row came from: graphql, rest or archive.';
COMMENT ON COLUMN item_people.fetched_at IS 'When that source was read (UTC).';
COMMENT ON COLUMN item_people.page_id IS 'The raw page (raw_pages.page_id) the row was read from.';

CREATE TABLE reactions (
    repo VARCHAR NOT NULL,
    number INTEGER NOT NULL,
    subject VARCHAR NOT NULL,
    subject_id VARCHAR NOT NULL,
    thumbs_up INTEGER NOT NULL,
    thumbs_down INTEGER NOT NULL,
    laugh INTEGER NOT NULL,
    hooray INTEGER NOT NULL,
    confused INTEGER NOT NULL,
    heart INTEGER NOT NULL,
    rocket INTEGER NOT NULL,
    eyes INTEGER NOT NULL,
    source VARCHAR,
    fetched_at TIMESTAMP,
    page_id VARCHAR
);
COMMENT ON TABLE reactions IS 'Reactions to items, comments and reviews, counted by kind; no row where there are none.';
COMMENT ON COLUMN reactions.repo IS 'Repository as owner/name.';
COMMENT ON COLUMN reactions.number IS 'Number of the issue or pull request in its repository.';
COMMENT ON COLUMN reactions.subject IS 'item, comment, review or review_comment.';
COMMENT ON COLUMN reactions.subject_id IS 'Id of the comment or review; empty for the item itself.';
COMMENT ON COLUMN reactions.thumbs_up IS 'How often.';
COMMENT ON COLUMN reactions.thumbs_down IS 'How often.';
COMMENT ON COLUMN reactions.laugh IS 'How often.';
COMMENT ON COLUMN reactions.hooray IS 'How often.';
COMMENT ON COLUMN reactions.confused IS 'How often.';
COMMENT ON COLUMN reactions.heart IS 'How often.';
COMMENT ON COLUMN reactions.rocket IS 'How often.';
COMMENT ON COLUMN reactions.eyes IS 'How often.';
COMMENT ON COLUMN reactions.source IS 'Where the row came from: graphql, rest or archive.';
COMMENT ON COLUMN reactions.fetched_at IS 'When that source was read (UTC).';
COMMENT ON COLUMN reactions.page_id IS 'The raw page (raw_pages.page_id) the row was read from.';

CREATE TABLE users (
    repo VARCHAR NOT NULL,
    login VARCHAR NOT NULL,
    user_id BIGINT,
    type VARCHAR,
    association VARCHAR,
    source VARCHAR,
    fetched_at TIMESTAMP,
    page_id VARCHAR
);
COMMENT ON TABLE users IS 'Accounts that took part in a repository.';
COMMENT ON COLUMN users.repo IS 'Repository as owner/name.';
COMMENT ON COLUMN users.login IS 'Login; that of an app ends in [bot].';
COMMENT ON COLUMN users.user_id IS 'GitHub''s number of the account, which stays when the login changes.';
COMMENT ON COLUMN users.type IS 'User, Bot, Organization, Mannequin ...';
COMMENT ON COLUMN users.association IS 'Relation to the repository when last seen: MEMBER, CONTRIBUTOR, NONE ...';
COMMENT ON COLUMN users.source IS 'Where the row came from: graphql, rest or archive.';
COMMENT ON COLUMN users.fetched_at IS 'When that source was read (UTC).';
COMMENT ON COLUMN users.page_id IS 'The raw page (raw_pages.page_id) the row was read from.';

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

COMMENT ON COLUMN stated_links.evidence IS 'catalog, closing_reference, sub_issue, event or dataset.';
COMMENT ON COLUMN links.evidence IS 'text, event, commit, closing_reference, sub_issue, dataset or catalog.';
