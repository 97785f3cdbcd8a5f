-- The numbers of the tracker: what its listings said last, and what was read. An item is read once its last part is stored.

CREATE TABLE IF NOT EXISTS listed (
    repo VARCHAR NOT NULL,
    number INTEGER NOT NULL,
    kind VARCHAR,
    updated_at TIMESTAMP,
    comments INTEGER,
    seen_at TIMESTAMP NOT NULL,
    is_absent BOOLEAN NOT NULL,
    read_of TIMESTAMP,
    read_comments INTEGER,
    tries INTEGER NOT NULL,
    reason VARCHAR
);
COMMENT ON TABLE listed IS 'Each number of the tracker: what GitHub said of it last, and what was read of it.';
COMMENT ON COLUMN listed.repo IS 'Repository as owner/name.';
COMMENT ON COLUMN listed.number IS 'Number of the issue or pull request.';
COMMENT ON COLUMN listed.kind IS 'issue or pull.';
COMMENT ON COLUMN listed.updated_at IS 'Last change that GitHub named (UTC).';
COMMENT ON COLUMN listed.comments IS 'Comments as GitHub counts them.';
COMMENT ON COLUMN listed.seen_at IS 'When GitHub named the number last, or said that there is none (UTC).';
COMMENT ON COLUMN listed.is_absent IS 'GitHub has no issue or pull request of this number: deleted, transferred, hidden, or a discussion.';
COMMENT ON COLUMN listed.read_of IS 'Last change of the item as it was read whole (UTC).';
COMMENT ON COLUMN listed.read_comments IS 'Comments that GitHub counted then.';
COMMENT ON COLUMN listed.tries IS 'How often it was asked for in vain since.';
COMMENT ON COLUMN listed.reason IS 'What lacked the last time.';

CREATE TABLE IF NOT EXISTS listing_marks (
    repo VARCHAR NOT NULL,
    listing VARCHAR NOT NULL,
    down_to TIMESTAMP NOT NULL,
    onward VARCHAR
);
COMMENT ON TABLE listing_marks IS 'How far listings were read: all later changes are in listed.';
COMMENT ON COLUMN listing_marks.repo IS 'Repository as owner/name.';
COMMENT ON COLUMN listing_marks.listing IS 'issue or pull; rest: the one of both that needs no token.';
COMMENT ON COLUMN listing_marks.down_to IS 'The newest change when the last listing began (UTC): the next one stops there.';
COMMENT ON COLUMN listing_marks.onward IS 'Where a listing that did not reach its end goes on: an address.';

-- What is to be read: never read, changed since, or with another number of comments (a late one moves no time of change).
CREATE OR REPLACE VIEW todo AS
SELECT repo, number, kind, tries
FROM listed
WHERE NOT is_absent AND (read_of IS NULL OR read_of < updated_at OR read_comments <> comments);
