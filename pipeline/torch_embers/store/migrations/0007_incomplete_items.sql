-- Items that a source could not give whole are read again until they are.

CREATE TABLE incomplete_items (
    repo VARCHAR NOT NULL,
    place VARCHAR NOT NULL,
    number INTEGER,
    reason VARCHAR NOT NULL,
    tries INTEGER NOT NULL,
    since TIMESTAMP,
    source VARCHAR,
    fetched_at TIMESTAMP,
    page_id VARCHAR
);
COMMENT ON TABLE incomplete_items IS 'Items that wait to be read again because a part of them could not be read; each run of their source tries again, and a whole reading removes the row. Key: `repo`, `place`.';
COMMENT ON COLUMN incomplete_items.repo IS 'Repository as owner/name.';
COMMENT ON COLUMN incomplete_items.place IS '#number, or the place in a listing (JSON) of an item whose number is not known.';
COMMENT ON COLUMN incomplete_items.number IS 'Number of the issue or pull request; NULL where the source gave none.';
COMMENT ON COLUMN incomplete_items.reason IS 'What could not be read.';
COMMENT ON COLUMN incomplete_items.tries IS 'How many readings in a row were not whole.';
COMMENT ON COLUMN incomplete_items.since IS 'When the first of them was made (UTC).';
COMMENT ON COLUMN incomplete_items.source IS 'Where the row came from: graphql.';
COMMENT ON COLUMN incomplete_items.fetched_at IS 'When that source was last asked (UTC).';
COMMENT ON COLUMN incomplete_items.page_id IS 'The raw page (raw_pages.page_id) of the last reading.';

COMMENT ON COLUMN items.author IS 'Login of the author; empty where the account was deleted, NULL where no source says.';
COMMENT ON COLUMN items.milestone IS 'Title of the milestone; empty where there is none, NULL where no source says.';
