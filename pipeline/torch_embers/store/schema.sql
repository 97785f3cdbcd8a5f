-- The embers database, schema version 1. One file, DuckDB.
-- All times are UTC, stored as TIMESTAMP. Tables that hold something from outside carry source, fetched_at and page_id.
-- Uniqueness: the only writer replaces rows by key (KEYS in store/tables.py) inside one transaction, which costs no index and no
-- memory for one; tests/unit/test_store.py checks that keys stay unique.

CREATE TABLE schema_version (
    version INTEGER NOT NULL,
    applied_at TIMESTAMP NOT NULL,
    embers_version VARCHAR NOT NULL
);
COMMENT ON TABLE schema_version IS 'Which schema this file has; the newest row counts.';
COMMENT ON COLUMN schema_version.version IS 'Schema version.';
COMMENT ON COLUMN schema_version.applied_at IS 'When it was applied (UTC).';
COMMENT ON COLUMN schema_version.embers_version IS 'The embers release that applied it.';

CREATE TABLE raw_pages (
    seq BIGINT NOT NULL,
    batch BIGINT NOT NULL,
    page_id VARCHAR NOT NULL,
    repo VARCHAR NOT NULL,
    source VARCHAR NOT NULL,
    kind VARCHAR NOT NULL,
    request VARCHAR NOT NULL,
    fetched_at TIMESTAMP NOT NULL,
    size BIGINT NOT NULL,
    body BLOB NOT NULL
);
COMMENT ON TABLE raw_pages IS 'Every answer of every source as it came, compressed: all other tables can be rebuilt from here offline.';
COMMENT ON COLUMN raw_pages.seq IS 'Order of arrival; a replay follows it.';
COMMENT ON COLUMN raw_pages.batch IS 'Transaction that brought it; a replay keeps the same groups.';
COMMENT ON COLUMN raw_pages.page_id IS 'Hash of source, request, time of fetch and body.';
COMMENT ON COLUMN raw_pages.repo IS 'Repository as owner/name.';
COMMENT ON COLUMN raw_pages.source IS 'graphql, rest, archive, jsonl, git or catalog.';
COMMENT ON COLUMN raw_pages.kind IS 'Which reader turns the body into rows, e.g. rest.items.';
COMMENT ON COLUMN raw_pages.request IS 'Address, or file and place, that was read.';
COMMENT ON COLUMN raw_pages.fetched_at IS 'When it was read (UTC).';
COMMENT ON COLUMN raw_pages.size IS 'Bytes before compression.';
COMMENT ON COLUMN raw_pages.body IS 'The answer, compressed with zstd.';

CREATE TABLE sync_state (
    repo VARCHAR NOT NULL,
    source VARCHAR NOT NULL,
    stream VARCHAR NOT NULL,
    cursor VARCHAR NOT NULL,
    updated_at TIMESTAMP NOT NULL
);
COMMENT ON TABLE sync_state IS 'How far each stream of each source was read; committed in one transaction with the page it follows from.';
COMMENT ON COLUMN sync_state.repo IS 'Repository as owner/name.';
COMMENT ON COLUMN sync_state.source IS 'The source.';
COMMENT ON COLUMN sync_state.stream IS 'A listing within the source, e.g. items, issues, pulls.';
COMMENT ON COLUMN sync_state.cursor IS 'JSON as of mine/github/cursor.py.';
COMMENT ON COLUMN sync_state.updated_at IS 'When it last moved (UTC).';

CREATE TABLE rejects (
    source VARCHAR NOT NULL,
    origin VARCHAR NOT NULL,
    line INTEGER,
    reason VARCHAR NOT NULL,
    raw VARCHAR NOT NULL,
    fetched_at TIMESTAMP,
    page_id VARCHAR
);
COMMENT ON TABLE rejects IS 'Records that could not be used, with the reason; nothing is dropped in silence.';
COMMENT ON COLUMN rejects.source IS 'The source.';
COMMENT ON COLUMN rejects.origin IS 'File or address.';
COMMENT ON COLUMN rejects.line IS 'Line in that file, counted from 1.';
COMMENT ON COLUMN rejects.reason IS 'What was wrong.';
COMMENT ON COLUMN rejects.raw IS 'The first 2,000 characters of the record.';
COMMENT ON COLUMN rejects.fetched_at IS 'When that source was read (UTC).';
COMMENT ON COLUMN rejects.page_id IS 'The raw page (raw_pages.page_id) the row was read from.';

CREATE TABLE items (
    repo VARCHAR NOT NULL,
    number INTEGER NOT NULL,
    kind VARCHAR,
    title VARCHAR,
    body VARCHAR,
    author VARCHAR,
    author_association VARCHAR,
    state VARCHAR,
    state_reason VARCHAR,
    is_draft BOOLEAN,
    merged_at TIMESTAMP,
    merge_sha VARCHAR,
    base_ref VARCHAR,
    head_ref VARCHAR,
    milestone VARCHAR,
    created_at TIMESTAMP,
    updated_at TIMESTAMP,
    closed_at TIMESTAMP,
    comment_count INTEGER,
    reaction_count INTEGER,
    labels VARCHAR[],
    deleted_at TIMESTAMP,
    transferred_to VARCHAR,
    history BOOLEAN,
    content_hash VARCHAR,
    stamps MAP(VARCHAR, TIMESTAMP),
    source VARCHAR,
    fetched_at TIMESTAMP,
    page_id VARCHAR
);
COMMENT ON TABLE items IS 'Issues and pull requests, one row each, newest known state.';
COMMENT ON COLUMN items.repo IS 'Repository as owner/name.';
COMMENT ON COLUMN items.number IS 'Number of the issue or pull request in its repository.';
COMMENT ON COLUMN items.kind IS 'issue or pull; empty where no source gives it.';
COMMENT ON COLUMN items.title IS 'Title.';
COMMENT ON COLUMN items.body IS 'Text of the first post; NULL where no source had it, empty where it is empty.';
COMMENT ON COLUMN items.author IS 'Login of the author.';
COMMENT ON COLUMN items.author_association IS 'MEMBER, CONTRIBUTOR, NONE ...';
COMMENT ON COLUMN items.state IS 'open or closed.';
COMMENT ON COLUMN items.state_reason IS 'completed, not_planned, duplicate, reopened or merged; empty when closed without a reason.';
COMMENT ON COLUMN items.is_draft IS 'Draft pull request.';
COMMENT ON COLUMN items.merged_at IS 'When the pull request was merged (UTC).';
COMMENT ON COLUMN items.merge_sha IS 'Merge commit.';
COMMENT ON COLUMN items.base_ref IS 'Branch a pull request targets.';
COMMENT ON COLUMN items.head_ref IS 'Branch a pull request comes from.';
COMMENT ON COLUMN items.milestone IS 'Title of the milestone.';
COMMENT ON COLUMN items.created_at IS 'Created (UTC).';
COMMENT ON COLUMN items.updated_at IS 'Last change as the tracker counts it (UTC).';
COMMENT ON COLUMN items.closed_at IS 'Closed (UTC).';
COMMENT ON COLUMN items.comment_count IS 'Comments as the tracker counts them.';
COMMENT ON COLUMN items.reaction_count IS 'Reactions on the first post.';
COMMENT ON COLUMN items.labels IS 'Current labels, sorted; NULL where no source gives them. One row each in the view labels.';
COMMENT ON COLUMN items.deleted_at IS 'Tombstone: when the item turned out to be gone (deleted or transferred).';
COMMENT ON COLUMN items.transferred_to IS 'owner/name#number of a transferred item.';
COMMENT ON COLUMN items.history IS 'True once all events were fetched.';
COMMENT ON COLUMN items.content_hash IS 'md5 of title and body: later stages work only on what changed.';
COMMENT ON COLUMN items.stamps IS 'Columns whose newest statement is older than updated_at, with its time: a late arrival in between still counts.';
COMMENT ON COLUMN items.source IS 'Where the row came from: graphql, rest, archive, jsonl, git or catalog.';
COMMENT ON COLUMN items.fetched_at IS 'When that source was read (UTC).';
COMMENT ON COLUMN items.page_id IS 'The raw page (raw_pages.page_id) the row was read from.';

CREATE TABLE events (
    repo VARCHAR NOT NULL,
    number INTEGER NOT NULL,
    event_id VARCHAR NOT NULL,
    type VARCHAR NOT NULL,
    created_at TIMESTAMP,
    actor VARCHAR,
    label VARCHAR,
    state_reason VARCHAR,
    title_from VARCHAR,
    title_to VARCHAR,
    other_repo VARCHAR,
    other_number INTEGER,
    commit_sha VARCHAR,
    will_close BOOLEAN,
    source VARCHAR,
    fetched_at TIMESTAMP,
    page_id VARCHAR
);
COMMENT ON TABLE events IS 'What happened to the items: labeled, unlabeled, closed, reopened, renamed, transferred, marked_as_duplicate, cross_referenced, referenced, connected ...';
COMMENT ON COLUMN events.repo IS 'Repository as owner/name.';
COMMENT ON COLUMN events.number IS 'Number of the issue or pull request in its repository.';
COMMENT ON COLUMN events.event_id IS 'The source''s id of the event.';
COMMENT ON COLUMN events.type IS 'Kind of event in snake case.';
COMMENT ON COLUMN events.created_at IS 'When (UTC).';
COMMENT ON COLUMN events.actor IS 'Login of who did it.';
COMMENT ON COLUMN events.label IS 'Label of a labeled or unlabeled event.';
COMMENT ON COLUMN events.state_reason IS 'Reason of a closed event.';
COMMENT ON COLUMN events.title_from IS 'Old title of a rename.';
COMMENT ON COLUMN events.title_to IS 'New title of a rename.';
COMMENT ON COLUMN events.other_repo IS 'Repository of the other item (cross reference, duplicate, transfer, closer).';
COMMENT ON COLUMN events.other_number IS 'Number of the other item.';
COMMENT ON COLUMN events.commit_sha IS 'Commit of a closing or referencing event.';
COMMENT ON COLUMN events.will_close IS 'A cross reference that closes this item when merged.';
COMMENT ON COLUMN events.source IS 'Where the row came from: graphql, rest, archive, jsonl, git or catalog.';
COMMENT ON COLUMN events.fetched_at IS 'When that source was read (UTC).';
COMMENT ON COLUMN events.page_id IS 'The raw page (raw_pages.page_id) the row was read from.';

CREATE TABLE comments (
    repo VARCHAR NOT NULL,
    number INTEGER NOT NULL,
    comment_id VARCHAR NOT NULL,
    author VARCHAR,
    author_association VARCHAR,
    created_at TIMESTAMP,
    updated_at TIMESTAMP,
    body VARCHAR,
    source VARCHAR,
    fetched_at TIMESTAMP,
    page_id VARCHAR
);
COMMENT ON TABLE comments IS 'Comments on the items.';
COMMENT ON COLUMN comments.repo IS 'Repository as owner/name.';
COMMENT ON COLUMN comments.number IS 'Number of the issue or pull request in its repository.';
COMMENT ON COLUMN comments.comment_id IS 'The source''s id of the comment.';
COMMENT ON COLUMN comments.author IS 'Login of the author.';
COMMENT ON COLUMN comments.author_association IS 'MEMBER, CONTRIBUTOR, NONE ...';
COMMENT ON COLUMN comments.created_at IS 'Posted (UTC).';
COMMENT ON COLUMN comments.updated_at IS 'Last edit (UTC).';
COMMENT ON COLUMN comments.body IS 'Text.';
COMMENT ON COLUMN comments.source IS 'Where the row came from: graphql, rest, archive, jsonl, git or catalog.';
COMMENT ON COLUMN comments.fetched_at IS 'When that source was read (UTC).';
COMMENT ON COLUMN comments.page_id IS 'The raw page (raw_pages.page_id) the row was read from.';

CREATE TABLE pull_files (
    repo VARCHAR NOT NULL,
    number INTEGER NOT NULL,
    path VARCHAR NOT NULL,
    change VARCHAR,
    additions INTEGER,
    deletions INTEGER,
    source VARCHAR,
    fetched_at TIMESTAMP,
    page_id VARCHAR
);
COMMENT ON TABLE pull_files IS 'Files that pull requests change.';
COMMENT ON COLUMN pull_files.repo IS 'Repository as owner/name.';
COMMENT ON COLUMN pull_files.number IS 'Number of the issue or pull request in its repository.';
COMMENT ON COLUMN pull_files.path IS 'Path from the repository root.';
COMMENT ON COLUMN pull_files.change IS 'added, modified, deleted, renamed, copied or changed.';
COMMENT ON COLUMN pull_files.additions IS 'Lines added.';
COMMENT ON COLUMN pull_files.deletions IS 'Lines deleted.';
COMMENT ON COLUMN pull_files.source IS 'Where the row came from: graphql, rest, archive, jsonl, git or catalog.';
COMMENT ON COLUMN pull_files.fetched_at IS 'When that source was read (UTC).';
COMMENT ON COLUMN pull_files.page_id IS 'The raw page (raw_pages.page_id) the row was read from.';

CREATE TABLE commits (
    repo VARCHAR NOT NULL,
    sha VARCHAR NOT NULL,
    author VARCHAR,
    authored_at TIMESTAMP,
    committed_at TIMESTAMP,
    subject VARCHAR,
    message VARCHAR,
    pull_number INTEGER,
    source VARCHAR,
    fetched_at TIMESTAMP,
    page_id VARCHAR
);
COMMENT ON TABLE commits IS 'Commits of a local clone.';
COMMENT ON COLUMN commits.repo IS 'Repository as owner/name.';
COMMENT ON COLUMN commits.sha IS 'Commit hash.';
COMMENT ON COLUMN commits.author IS 'Author''s name.';
COMMENT ON COLUMN commits.authored_at IS 'Authored (UTC).';
COMMENT ON COLUMN commits.committed_at IS 'Committed (UTC).';
COMMENT ON COLUMN commits.subject IS 'First line.';
COMMENT ON COLUMN commits.message IS 'Whole message.';
COMMENT ON COLUMN commits.pull_number IS 'Pull request it landed, by its title or by ''Pull Request resolved''.';
COMMENT ON COLUMN commits.source IS 'Where the row came from: graphql, rest, archive, jsonl, git or catalog.';
COMMENT ON COLUMN commits.fetched_at IS 'When that source was read (UTC).';
COMMENT ON COLUMN commits.page_id IS 'The raw page (raw_pages.page_id) the row was read from.';

CREATE TABLE commit_files (
    repo VARCHAR NOT NULL,
    sha VARCHAR NOT NULL,
    path VARCHAR NOT NULL,
    additions INTEGER,
    deletions INTEGER,
    source VARCHAR,
    fetched_at TIMESTAMP,
    page_id VARCHAR
);
COMMENT ON TABLE commit_files IS 'Files that commits change.';
COMMENT ON COLUMN commit_files.repo IS 'Repository as owner/name.';
COMMENT ON COLUMN commit_files.sha IS 'Commit hash.';
COMMENT ON COLUMN commit_files.path IS 'Path from the repository root.';
COMMENT ON COLUMN commit_files.additions IS 'Lines added; NULL for binary files.';
COMMENT ON COLUMN commit_files.deletions IS 'Lines deleted; NULL for binary files.';
COMMENT ON COLUMN commit_files.source IS 'Where the row came from: graphql, rest, archive, jsonl, git or catalog.';
COMMENT ON COLUMN commit_files.fetched_at IS 'When that source was read (UTC).';
COMMENT ON COLUMN commit_files.page_id IS 'The raw page (raw_pages.page_id) the row was read from.';

CREATE TABLE code_sizes (
    repo VARCHAR NOT NULL,
    tag VARCHAR NOT NULL,
    tagged_at TIMESTAMP,
    component VARCHAR NOT NULL,
    subcomponent VARCHAR NOT NULL,
    files INTEGER NOT NULL,
    lines BIGINT NOT NULL,
    source VARCHAR,
    fetched_at TIMESTAMP,
    page_id VARCHAR
);
COMMENT ON TABLE code_sizes IS 'Lines of code per release tag and component, from a clone.';
COMMENT ON COLUMN code_sizes.repo IS 'Repository as owner/name.';
COMMENT ON COLUMN code_sizes.tag IS 'Release tag.';
COMMENT ON COLUMN code_sizes.tagged_at IS 'Date of the tagged commit (UTC).';
COMMENT ON COLUMN code_sizes.component IS 'data_path, data_path_strict, computation or other.';
COMMENT ON COLUMN code_sizes.subcomponent IS 'Entry of data/components.toml.';
COMMENT ON COLUMN code_sizes.files IS 'Text source files.';
COMMENT ON COLUMN code_sizes.lines IS 'Lines in them.';
COMMENT ON COLUMN code_sizes.source IS 'Where the row came from: graphql, rest, archive, jsonl, git or catalog.';
COMMENT ON COLUMN code_sizes.fetched_at IS 'When that source was read (UTC).';
COMMENT ON COLUMN code_sizes.page_id IS 'The raw page (raw_pages.page_id) the row was read from.';

CREATE TABLE gold_labels (
    repo VARCHAR NOT NULL,
    number INTEGER NOT NULL,
    scheme VARCHAR NOT NULL,
    value VARCHAR NOT NULL,
    annotator_kind VARCHAR NOT NULL,
    annotator VARCHAR NOT NULL,
    evidence VARCHAR,
    labelled_at TIMESTAMP,
    source VARCHAR,
    fetched_at TIMESTAMP,
    page_id VARCHAR
);
COMMENT ON TABLE gold_labels IS 'Taxonomy labels by named annotators; automated ones are named as such.';
COMMENT ON COLUMN gold_labels.repo IS 'Repository as owner/name.';
COMMENT ON COLUMN gold_labels.number IS 'Number of the issue or pull request in its repository.';
COMMENT ON COLUMN gold_labels.scheme IS 'bug_type, memory_type, memory_subtype, consequence or backend.';
COMMENT ON COLUMN gold_labels.value IS 'Class of that scheme.';
COMMENT ON COLUMN gold_labels.annotator_kind IS 'paper, automated or human.';
COMMENT ON COLUMN gold_labels.annotator IS 'Who labelled.';
COMMENT ON COLUMN gold_labels.evidence IS 'What decided.';
COMMENT ON COLUMN gold_labels.labelled_at IS 'When (UTC).';
COMMENT ON COLUMN gold_labels.source IS 'Where the row came from: catalog, or label for what people labelled by hand.';
COMMENT ON COLUMN gold_labels.fetched_at IS 'When that source was read (UTC).';
COMMENT ON COLUMN gold_labels.page_id IS 'The raw page (raw_pages.page_id) the row was read from.';

CREATE TABLE catalog (
    repo VARCHAR NOT NULL,
    number INTEGER NOT NULL,
    summary VARCHAR NOT NULL,
    backends VARCHAR[] NOT NULL,
    affected_versions VARCHAR[] NOT NULL,
    fixed_versions VARCHAR[] NOT NULL,
    facts_as_of DATE,
    source VARCHAR,
    fetched_at TIMESTAMP,
    page_id VARCHAR
);
COMMENT ON TABLE catalog IS 'What the embedded catalog holds about a bug beyond its facts.';
COMMENT ON COLUMN catalog.repo IS 'Repository as owner/name.';
COMMENT ON COLUMN catalog.number IS 'Number of the issue or pull request in its repository.';
COMMENT ON COLUMN catalog.summary IS 'Summary in the catalog''s own words.';
COMMENT ON COLUMN catalog.backends IS 'Backends on which it shows.';
COMMENT ON COLUMN catalog.affected_versions IS 'Releases known to show it.';
COMMENT ON COLUMN catalog.fixed_versions IS 'Releases known to have the fix.';
COMMENT ON COLUMN catalog.facts_as_of IS 'Day on which the facts were looked up.';
COMMENT ON COLUMN catalog.source IS 'Where the row came from: graphql, rest, archive, jsonl, git or catalog.';
COMMENT ON COLUMN catalog.fetched_at IS 'When that source was read (UTC).';
COMMENT ON COLUMN catalog.page_id IS 'The raw page (raw_pages.page_id) the row was read from.';

CREATE TABLE stated_links (
    repo VARCHAR NOT NULL,
    number INTEGER NOT NULL,
    relation VARCHAR NOT NULL,
    target_repo VARCHAR NOT NULL,
    target_number INTEGER NOT NULL,
    evidence VARCHAR NOT NULL,
    source VARCHAR,
    fetched_at TIMESTAMP,
    page_id VARCHAR
);
COMMENT ON TABLE stated_links IS 'Links that a source states as data rather than as prose.';
COMMENT ON COLUMN stated_links.repo IS 'Repository as owner/name.';
COMMENT ON COLUMN stated_links.number IS 'Number of the issue or pull request in its repository.';
COMMENT ON COLUMN stated_links.relation IS 'Relation of data/relations.toml.';
COMMENT ON COLUMN stated_links.target_repo IS 'Repository of the target.';
COMMENT ON COLUMN stated_links.target_number IS 'Number of the target.';
COMMENT ON COLUMN stated_links.evidence IS 'catalog, closing_reference, event or dataset.';
COMMENT ON COLUMN stated_links.source IS 'Where the row came from: graphql, rest, archive, jsonl, git or catalog.';
COMMENT ON COLUMN stated_links.fetched_at IS 'When that source was read (UTC).';
COMMENT ON COLUMN stated_links.page_id IS 'The raw page (raw_pages.page_id) the row was read from.';

CREATE TABLE links (
    repo VARCHAR NOT NULL,
    number INTEGER,
    sha VARCHAR,
    relation VARCHAR NOT NULL,
    target_repo VARCHAR NOT NULL,
    target_number INTEGER,
    target_sha VARCHAR,
    evidence VARCHAR NOT NULL,
    found_in VARCHAR NOT NULL,
    found_id VARCHAR,
    rule VARCHAR,
    snippet VARCHAR,
    stated_at TIMESTAMP,
    page_id VARCHAR
);
COMMENT ON TABLE links IS 'Links between items and commits with their evidence; derived, rebuilt by the link stage.';
COMMENT ON COLUMN links.repo IS 'Repository as owner/name.';
COMMENT ON COLUMN links.number IS 'Item the link starts from; NULL where it is a commit.';
COMMENT ON COLUMN links.sha IS 'Commit the link starts from; NULL where it is an item.';
COMMENT ON COLUMN links.relation IS 'Relation of data/relations.toml.';
COMMENT ON COLUMN links.target_repo IS 'Repository of the target.';
COMMENT ON COLUMN links.target_number IS 'Target item.';
COMMENT ON COLUMN links.target_sha IS 'Target commit.';
COMMENT ON COLUMN links.evidence IS 'text, event, commit, closing_reference, dataset or catalog.';
COMMENT ON COLUMN links.found_in IS 'title, body, comment, event, message or the stating source.';
COMMENT ON COLUMN links.found_id IS 'Comment or event id.';
COMMENT ON COLUMN links.rule IS 'Rule of data/relations.toml that matched.';
COMMENT ON COLUMN links.snippet IS 'Up to 160 characters around the match.';
COMMENT ON COLUMN links.stated_at IS 'When the evidence was written (UTC).';
COMMENT ON COLUMN links.page_id IS 'The raw page (raw_pages.page_id) the row was read from.';

CREATE TABLE components (
    repo VARCHAR NOT NULL,
    number INTEGER NOT NULL,
    component VARCHAR NOT NULL,
    subcomponent VARCHAR NOT NULL,
    strict BOOLEAN NOT NULL,
    evidence VARCHAR NOT NULL,
    detail VARCHAR NOT NULL,
    page_id VARCHAR
);
COMMENT ON TABLE components IS 'Which part of PyTorch an item is about; derived, rebuilt by the link stage.';
COMMENT ON COLUMN components.repo IS 'Repository as owner/name.';
COMMENT ON COLUMN components.number IS 'Number of the issue or pull request in its repository.';
COMMENT ON COLUMN components.component IS 'data_path or computation.';
COMMENT ON COLUMN components.subcomponent IS 'Entry of data/components.toml.';
COMMENT ON COLUMN components.strict IS 'In the study''s own module list (data_path_strict).';
COMMENT ON COLUMN components.evidence IS 'path, label, text or model.';
COMMENT ON COLUMN components.detail IS 'The path, label or words that decided.';
COMMENT ON COLUMN components.page_id IS 'The raw page (raw_pages.page_id) the row was read from.';

CREATE TABLE link_scans (
    repo VARCHAR NOT NULL,
    origin VARCHAR NOT NULL,
    id VARCHAR NOT NULL,
    content_hash VARCHAR NOT NULL
);
COMMENT ON TABLE link_scans IS 'Content that the link stage has seen: only what changed is parsed again.';
COMMENT ON COLUMN link_scans.repo IS 'Repository as owner/name.';
COMMENT ON COLUMN link_scans.origin IS 'item, comment or commit; weak_labels for the marks of the labelling functions.';
COMMENT ON COLUMN link_scans.id IS 'Number, comment id or commit hash.';
COMMENT ON COLUMN link_scans.content_hash IS 'Hash of the parsed text and of the rules.';

CREATE VIEW labels AS
SELECT repo, number, unnest(labels) AS name, source, fetched_at, page_id FROM items;
COMMENT ON VIEW labels IS 'Current labels of the items, one row each (from items.labels).';
