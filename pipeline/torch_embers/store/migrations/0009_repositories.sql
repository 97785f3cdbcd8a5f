-- Which repository a name stands for: names change, the id that GitHub gives stays.

CREATE TABLE repositories (
    repo_id BIGINT NOT NULL,
    full_name VARCHAR NOT NULL,
    asked_as VARCHAR,
    source VARCHAR,
    fetched_at TIMESTAMP,
    page_id VARCHAR
);
COMMENT ON TABLE repositories IS 'Repositories that were mined live. When one comes with a new name, the rows of all tables are renamed; raw_pages keeps the name of its time. One row per name; the newest is the present one. Key: `repo_id`, `full_name`.';
COMMENT ON COLUMN repositories.repo_id IS 'The id that GitHub gives (REST: id, GraphQL: databaseId); a new name does not change it.';
COMMENT ON COLUMN repositories.full_name IS 'Name as owner/name.';
COMMENT ON COLUMN repositories.asked_as IS 'The name that was asked for when GitHub gave this one; an earlier name where they differ.';
COMMENT ON COLUMN repositories.source IS 'Where the row came from: graphql or rest.';
COMMENT ON COLUMN repositories.fetched_at IS 'When it was last seen with a name that was new then (UTC).';
COMMENT ON COLUMN repositories.page_id IS 'The raw page (raw_pages.page_id) it came from.';
