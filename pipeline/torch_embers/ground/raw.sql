-- What was said: one row per object, source, time and content. All tables about the tracker are derived from here.

CREATE TABLE IF NOT EXISTS raw (
    repo VARCHAR NOT NULL,
    kind VARCHAR NOT NULL,
    id VARCHAR NOT NULL,
    source VARCHAR NOT NULL,
    said_at TIMESTAMP,
    sequence BIGINT NOT NULL,
    fetched_at TIMESTAMP NOT NULL,
    hash VARCHAR NOT NULL,
    json JSON NOT NULL
);
COMMENT ON TABLE raw IS 'What was said: one row per object, source, time and content. Tables about the tracker are derived from it.';
COMMENT ON COLUMN raw.repo IS 'Repository as owner/name.';
COMMENT ON COLUMN raw.kind IS 'item, comment, event, file, happening (of GH Archive), judgement or commit.';
COMMENT ON COLUMN raw.id IS 'Number of an item; of a part number/id, with the number of its item; hash of a commit.';
COMMENT ON COLUMN raw.source IS 'graphql, rest, archive, jsonl, git or catalog.';
COMMENT ON COLUMN raw.said_at IS 'When it was true by its own account: the last change of an item or comment (UTC); NULL where it does not say.';
COMMENT ON COLUMN raw.sequence IS 'Order of arrival, and so of statements of one time.';
COMMENT ON COLUMN raw.fetched_at IS 'When it was last read (UTC).';
COMMENT ON COLUMN raw.hash IS 'md5 of the JSON.';
COMMENT ON COLUMN raw.json IS 'The object as its source gave it.';
