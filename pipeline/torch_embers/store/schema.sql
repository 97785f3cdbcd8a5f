-- The embers database. One file, DuckDB. All times are UTC, stored as TIMESTAMP.
-- Tables about the tracker are derived from raw and carry source, fetched_at and page_id; runs, verdicts and what follows
-- from them are computed here, and of another schema version only those are taken over (take_over.sql).
-- Uniqueness: the only writer replaces rows by key inside one transaction, which costs no index and no memory for one;
-- tests/unit/test_store.py checks that keys stay unique.

CREATE TABLE schema_version (
    version INTEGER NOT NULL,
    applied_at TIMESTAMP NOT NULL,
    embers_version VARCHAR NOT NULL
);
COMMENT ON TABLE schema_version IS 'Which schema this file has; the newest row counts.';
COMMENT ON COLUMN schema_version.version IS 'Schema version.';
COMMENT ON COLUMN schema_version.applied_at IS 'When it was applied (UTC).';
COMMENT ON COLUMN schema_version.embers_version IS 'The embers release that applied it.';

CREATE TABLE raw (
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

CREATE TABLE listed (
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

CREATE TABLE listing_marks (
    repo VARCHAR NOT NULL,
    listing VARCHAR NOT NULL,
    down_to TIMESTAMP NOT NULL,
    onward VARCHAR
);
COMMENT ON TABLE listing_marks IS 'How far listings, files and clones were read.';
COMMENT ON COLUMN listing_marks.repo IS 'Repository as owner/name.';
COMMENT ON COLUMN listing_marks.listing IS 'issue or pull; rest: the one of both that needs no token; of a file, a clone or a release tag its source and name.';
COMMENT ON COLUMN listing_marks.down_to IS 'The newest change when the last listing began (UTC): the next one stops there; of a file when it was changed.';
COMMENT ON COLUMN listing_marks.onward IS 'Where a listing that did not reach its end goes on: an address; of a file its size, of a clone its tips.';

CREATE VIEW todo AS
SELECT repo, number, kind, tries
FROM listed
WHERE NOT is_absent AND (read_of IS NULL OR read_of < updated_at OR read_comments <> comments);
COMMENT ON VIEW todo IS 'What is to be read: never read, changed since, or with another number of comments (a late one moves no time of change).';

CREATE TABLE rejects (
    source VARCHAR NOT NULL,
    origin VARCHAR NOT NULL,
    line INTEGER,
    reason VARCHAR NOT NULL,
    raw VARCHAR NOT NULL,
    fetched_at TIMESTAMP
);
COMMENT ON TABLE rejects IS 'Records that could not be used, with the reason; nothing is dropped in silence.';
COMMENT ON COLUMN rejects.source IS 'The source.';
COMMENT ON COLUMN rejects.origin IS 'File or address.';
COMMENT ON COLUMN rejects.line IS 'Line in that file, counted from 1.';
COMMENT ON COLUMN rejects.reason IS 'What was wrong.';
COMMENT ON COLUMN rejects.raw IS 'The first 2,000 characters of the record.';
COMMENT ON COLUMN rejects.fetched_at IS 'When that source was read (UTC).';

CREATE TABLE repositories (
    repo_id BIGINT NOT NULL,
    full_name VARCHAR NOT NULL,
    asked_as VARCHAR,
    fetched_at TIMESTAMP
);
COMMENT ON TABLE repositories IS 'Repositories that were mined live. When one comes with a new name, the rows of all tables are renamed. One row per name; the newest is the present one. Key: `repo_id`, `full_name`.';
COMMENT ON COLUMN repositories.repo_id IS 'The id that GitHub gives (REST: id, GraphQL: databaseId); a new name does not change it.';
COMMENT ON COLUMN repositories.full_name IS 'Name as owner/name.';
COMMENT ON COLUMN repositories.asked_as IS 'The name that was asked for when GitHub gave this one; an earlier name where they differ.';
COMMENT ON COLUMN repositories.fetched_at IS 'When it was last seen with a name that was new then (UTC).';

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
    source VARCHAR,
    fetched_at TIMESTAMP,
    page_id VARCHAR,
    milestone_number INTEGER,
    milestone_due_at TIMESTAMP,
    locked BOOLEAN,
    lock_reason VARCHAR,
    issue_type VARCHAR,
    closed_by VARCHAR,
    merged_by VARCHAR,
    head_sha VARCHAR,
    check_state VARCHAR
);
COMMENT ON TABLE items IS 'Issues and pull requests, one row each, newest known state.';
COMMENT ON COLUMN items.repo IS 'Repository as owner/name.';
COMMENT ON COLUMN items.number IS 'Number of the issue or pull request in its repository.';
COMMENT ON COLUMN items.kind IS 'issue or pull; empty where no source gives it.';
COMMENT ON COLUMN items.title IS 'Title.';
COMMENT ON COLUMN items.body IS 'Text of the first post; NULL where no source had it, empty where it is empty.';
COMMENT ON COLUMN items.author IS 'Login of the author; empty where the account was deleted, NULL where no source says.';
COMMENT ON COLUMN items.author_association IS 'MEMBER, CONTRIBUTOR, NONE ...';
COMMENT ON COLUMN items.state IS 'open or closed.';
COMMENT ON COLUMN items.state_reason IS 'completed, not_planned, duplicate, reopened or merged; empty when closed without a reason.';
COMMENT ON COLUMN items.is_draft IS 'Draft pull request.';
COMMENT ON COLUMN items.merged_at IS 'When the pull request was merged (UTC).';
COMMENT ON COLUMN items.merge_sha IS 'Merge commit.';
COMMENT ON COLUMN items.base_ref IS 'Branch a pull request targets.';
COMMENT ON COLUMN items.head_ref IS 'Branch a pull request comes from.';
COMMENT ON COLUMN items.milestone IS 'Title of the milestone; empty where there is none, NULL where no source says.';
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
COMMENT ON COLUMN items.source IS 'Where the row came from: graphql, rest, archive, jsonl, git or catalog.';
COMMENT ON COLUMN items.fetched_at IS 'When that source was read (UTC).';
COMMENT ON COLUMN items.page_id IS 'Hash of the object in raw (raw.hash) that the row was read from.';
COMMENT ON COLUMN items.milestone_number IS 'Number of the milestone in its repository.';
COMMENT ON COLUMN items.milestone_due_at IS 'Due date of the milestone (UTC).';
COMMENT ON COLUMN items.locked IS 'Whether the conversation is locked.';
COMMENT ON COLUMN items.lock_reason IS 'off_topic, resolved, spam or too_heated; NULL where it is not locked or no reason was given.';
COMMENT ON COLUMN items.issue_type IS 'Type of the issue, e.g. Bug or Feature, where its organisation uses types; empty where it has none, NULL where no source says.';
COMMENT ON COLUMN items.closed_by IS 'Login of who closed it, where the item itself says so (REST); the view closings asks the events, too.';
COMMENT ON COLUMN items.merged_by IS 'Login of who merged the pull request.';
COMMENT ON COLUMN items.head_sha IS 'Head commit of the pull request.';
COMMENT ON COLUMN items.check_state IS 'All checks of the head commit together: success, failure, error, pending or expected; empty where none ran, NULL where no source says.';

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
COMMENT ON COLUMN events.page_id IS 'Hash of the object in raw (raw.hash) that the row was read from.';

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
COMMENT ON COLUMN comments.page_id IS 'Hash of the object in raw (raw.hash) that the row was read from.';

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
COMMENT ON COLUMN pull_files.page_id IS 'Hash of the object in raw (raw.hash) that the row was read from.';

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
COMMENT ON COLUMN stated_links.evidence IS 'catalog, closing_reference, sub_issue, event or dataset.';
COMMENT ON COLUMN stated_links.source IS 'Where the row came from: graphql, rest, archive, jsonl, git or catalog.';
COMMENT ON COLUMN stated_links.fetched_at IS 'When that source was read (UTC).';
COMMENT ON COLUMN stated_links.page_id IS 'Hash of the object in raw (raw.hash) that the row was read from.';

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
COMMENT ON COLUMN catalog.page_id IS 'Hash of the object in raw (raw.hash) that the row was read from.';

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
COMMENT ON COLUMN gold_labels.page_id IS 'Hash of the object in raw (raw.hash) that the row was read from.';

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
COMMENT ON COLUMN dispositions.page_id IS 'Hash of the object in raw (raw.hash) that the row was read from.';

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
    line VARCHAR,
    files INTEGER
);
COMMENT ON TABLE commits IS 'Commits of a clone, or of a file of commits.';
COMMENT ON COLUMN commits.repo IS 'Repository as owner/name.';
COMMENT ON COLUMN commits.sha IS 'Commit hash.';
COMMENT ON COLUMN commits.author IS 'Author''s name.';
COMMENT ON COLUMN commits.authored_at IS 'Authored (UTC).';
COMMENT ON COLUMN commits.committed_at IS 'Committed (UTC).';
COMMENT ON COLUMN commits.subject IS 'First line.';
COMMENT ON COLUMN commits.message IS 'Whole message.';
COMMENT ON COLUMN commits.pull_number IS 'Pull request it landed: by ''Pull Request resolved'', by the number that ends its title, or by ''Merge pull request''; NULL where the number is another repository''s.';
COMMENT ON COLUMN commits.source IS 'Where the row came from: graphql, rest, archive, jsonl, git or catalog.';
COMMENT ON COLUMN commits.fetched_at IS 'When that source was read (UTC).';
COMMENT ON COLUMN commits.line IS 'main: a first parent of HEAD, so merged; release: of a release branch or tag; branch: inside a branch that was merged; foreign: came with the history of another repository; NULL where the source does not say.';
COMMENT ON COLUMN commits.files IS 'Files it changes; commit_files can hold fewer. NULL where they are unknown.';

CREATE TABLE commit_files (
    repo VARCHAR NOT NULL,
    sha VARCHAR NOT NULL,
    path VARCHAR NOT NULL,
    additions INTEGER,
    deletions INTEGER,
    source VARCHAR,
    fetched_at TIMESTAMP,
    change VARCHAR
);
COMMENT ON TABLE commit_files IS 'Files that commits change.';
COMMENT ON COLUMN commit_files.repo IS 'Repository as owner/name.';
COMMENT ON COLUMN commit_files.sha IS 'Commit hash.';
COMMENT ON COLUMN commit_files.path IS 'Path from the repository root.';
COMMENT ON COLUMN commit_files.additions IS 'Lines added; NULL for binary files, and where the clone lacks the contents.';
COMMENT ON COLUMN commit_files.deletions IS 'Lines deleted; NULL for binary files, and where the clone lacks the contents.';
COMMENT ON COLUMN commit_files.source IS 'Where the row came from: graphql, rest, archive, jsonl, git or catalog.';
COMMENT ON COLUMN commit_files.fetched_at IS 'When that source was read (UTC).';
COMMENT ON COLUMN commit_files.change IS 'added, modified, deleted, renamed, copied or changed; NULL in rows of older releases.';

CREATE TABLE code_sizes (
    repo VARCHAR NOT NULL,
    tag VARCHAR NOT NULL,
    tagged_at TIMESTAMP,
    component VARCHAR NOT NULL,
    subcomponent VARCHAR NOT NULL,
    files INTEGER NOT NULL,
    lines BIGINT NOT NULL,
    source VARCHAR,
    fetched_at TIMESTAMP
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
    stated_at TIMESTAMP
);
COMMENT ON TABLE links IS 'Links between items and commits with their evidence; derived, rebuilt by the link stage.';
COMMENT ON COLUMN links.repo IS 'Repository as owner/name.';
COMMENT ON COLUMN links.number IS 'Item the link starts from; NULL where it is a commit.';
COMMENT ON COLUMN links.sha IS 'Commit the link starts from; NULL where it is an item.';
COMMENT ON COLUMN links.relation IS 'Relation of data/relations.toml.';
COMMENT ON COLUMN links.target_repo IS 'Repository of the target.';
COMMENT ON COLUMN links.target_number IS 'Target item.';
COMMENT ON COLUMN links.target_sha IS 'Target commit.';
COMMENT ON COLUMN links.evidence IS 'text, event, commit, closing_reference, sub_issue, dataset or catalog.';
COMMENT ON COLUMN links.found_in IS 'title, body, comment, event, message or the stating source.';
COMMENT ON COLUMN links.found_id IS 'Comment or event id.';
COMMENT ON COLUMN links.rule IS 'Rule of data/relations.toml that matched.';
COMMENT ON COLUMN links.snippet IS 'Up to 160 characters around the match.';
COMMENT ON COLUMN links.stated_at IS 'When the evidence was written (UTC).';

CREATE TABLE components (
    repo VARCHAR NOT NULL,
    number INTEGER NOT NULL,
    component VARCHAR NOT NULL,
    subcomponent VARCHAR NOT NULL,
    strict BOOLEAN NOT NULL,
    evidence VARCHAR NOT NULL,
    detail VARCHAR NOT NULL
);
COMMENT ON TABLE components IS 'Which part of PyTorch an item is about; derived, rebuilt by the link stage.';
COMMENT ON COLUMN components.repo IS 'Repository as owner/name.';
COMMENT ON COLUMN components.number IS 'Number of the issue or pull request in its repository.';
COMMENT ON COLUMN components.component IS 'data_path or computation.';
COMMENT ON COLUMN components.subcomponent IS 'Entry of data/components.toml.';
COMMENT ON COLUMN components.strict IS 'In the study''s own module list (data_path_strict).';
COMMENT ON COLUMN components.evidence IS 'path, label, text or model.';
COMMENT ON COLUMN components.detail IS 'The path, label or words that decided.';

CREATE TABLE link_scans (
    repo VARCHAR NOT NULL,
    origin VARCHAR NOT NULL,
    id VARCHAR NOT NULL,
    content_hash VARCHAR NOT NULL
);
COMMENT ON TABLE link_scans IS 'Content that a stage has seen: only what changed is done again.';
COMMENT ON COLUMN link_scans.repo IS 'Repository as owner/name.';
COMMENT ON COLUMN link_scans.origin IS 'item, comment or commit; weak_labels for the marks of the labelling functions, shipped for what comes with embers.';
COMMENT ON COLUMN link_scans.id IS 'Number, comment id or commit hash.';
COMMENT ON COLUMN link_scans.content_hash IS 'Hash of the parsed text and of the rules.';

CREATE TABLE model_texts (
    repo VARCHAR NOT NULL,
    number INTEGER NOT NULL,
    variant VARCHAR NOT NULL,
    rules VARCHAR NOT NULL,
    content_hash VARCHAR NOT NULL,
    text_hash VARCHAR NOT NULL
);
COMMENT ON TABLE model_texts IS 'Which text a model reads for an item: one row per item and variant, so that a run cleans only what changed.';
COMMENT ON COLUMN model_texts.repo IS 'Repository as owner/name.';
COMMENT ON COLUMN model_texts.number IS 'Number of the issue or pull request in its repository.';
COMMENT ON COLUMN model_texts.variant IS 'title, or text: the title with what is read of the body.';
COMMENT ON COLUMN model_texts.rules IS 'Hash of the cleaning rules that made the text.';
COMMENT ON COLUMN model_texts.content_hash IS 'Hash of what it was made from: items.content_hash, with the comments for variant thread.';
COMMENT ON COLUMN model_texts.text_hash IS 'Hash of the text; key of embeddings.';

CREATE TABLE embeddings (
    text_hash VARCHAR NOT NULL,
    model VARCHAR NOT NULL,
    vector FLOAT[384],
    wide FLOAT[]
);
COMMENT ON TABLE embeddings IS 'Vectors of length one, by text and model; equal texts share one. Exactly one of vector and wide is filled.';
COMMENT ON COLUMN embeddings.text_hash IS 'Hash of the text that was embedded.';
COMMENT ON COLUMN embeddings.model IS 'Model, weights and arithmetic; only vectors of the same model may be compared.';
COMMENT ON COLUMN embeddings.vector IS 'The vector where the model has 384 dimensions, as the default has: a fixed size makes search quicker.';
COMMENT ON COLUMN embeddings.wide IS 'The vector of a model with another number of dimensions.';

CREATE TABLE weak_labels (
    repo VARCHAR NOT NULL,
    number INTEGER NOT NULL,
    scheme VARCHAR NOT NULL,
    value VARCHAR NOT NULL,
    function VARCHAR NOT NULL,
    kind VARCHAR NOT NULL,
    evidence VARCHAR,
    labelled_at TIMESTAMP NOT NULL
);
COMMENT ON TABLE weak_labels IS 'Votes of labelling functions on an item: cheap, many, of known accuracy; never gold.';
COMMENT ON COLUMN weak_labels.repo IS 'Repository as owner/name.';
COMMENT ON COLUMN weak_labels.number IS 'Number of the issue or pull request in its repository.';
COMMENT ON COLUMN weak_labels.scheme IS 'Scheme of data/taxonomy.toml.';
COMMENT ON COLUMN weak_labels.value IS 'Class of that scheme.';
COMMENT ON COLUMN weak_labels.function IS 'The labelling function that voted.';
COMMENT ON COLUMN weak_labels.kind IS 'label (a maintainer''s triage label), keyword, or execution (what a run of a case showed).';
COMMENT ON COLUMN weak_labels.evidence IS 'What decided: the label, the matched words, the run.';
COMMENT ON COLUMN weak_labels.labelled_at IS 'When the function ran (UTC).';

CREATE TABLE predictions (
    repo VARCHAR NOT NULL,
    number INTEGER NOT NULL,
    scheme VARCHAR NOT NULL,
    value VARCHAR NOT NULL,
    probability DOUBLE NOT NULL,
    confidence VARCHAR NOT NULL,
    provenance VARCHAR NOT NULL,
    model VARCHAR NOT NULL,
    text_hash VARCHAR NOT NULL,
    votes_hash VARCHAR NOT NULL,
    explanation VARCHAR,
    predicted_at TIMESTAMP NOT NULL
);
COMMENT ON TABLE predictions IS 'Labels of an item: one row per item and scheme that applies, and where any number of classes may hold, per class.';
COMMENT ON COLUMN predictions.repo IS 'Repository as owner/name.';
COMMENT ON COLUMN predictions.number IS 'Number of the issue or pull request in its repository.';
COMMENT ON COLUMN predictions.scheme IS 'Scheme of data/taxonomy.toml.';
COMMENT ON COLUMN predictions.value IS 'Class of that scheme.';
COMMENT ON COLUMN predictions.probability IS 'Calibrated probability that the label is right.';
COMMENT ON COLUMN predictions.confidence IS 'high, medium or low: how often labels like it were right on two samples (models/study-labels/README.md).';
COMMENT ON COLUMN predictions.provenance IS 'How it came about: model; out_of_fold where the item was in the training data and was left out for this; execution where a run showed it; only_class where the parent class has one.';
COMMENT ON COLUMN predictions.model IS 'Name and hash of the classifier.';
COMMENT ON COLUMN predictions.text_hash IS 'Hash of the text that was read: where it is the item''s current one, the label is current.';
COMMENT ON COLUMN predictions.votes_hash IS 'Hash of the weak labels of the item and of its content: where they change, the item is labelled again.';
COMMENT ON COLUMN predictions.explanation IS 'JSON: the words that spoke most for the label, with weights; NULL where no model decided.';
COMMENT ON COLUMN predictions.predicted_at IS 'When (UTC).';

CREATE TABLE cases (
    case_hash VARCHAR NOT NULL,
    name VARCHAR NOT NULL,
    origin VARCHAR NOT NULL,
    current BOOLEAN NOT NULL,
    code VARCHAR NOT NULL,
    summary VARCHAR NOT NULL,
    bug_type VARCHAR,
    memory_type VARCHAR,
    memory_subtype VARCHAR,
    consequence VARCHAR,
    requires VARCHAR[] NOT NULL,
    known_bad VARCHAR[] NOT NULL,
    fixed_in VARCHAR,
    signature VARCHAR[] NOT NULL,
    oracle VARCHAR NOT NULL,
    timeout DOUBLE NOT NULL,
    saved_at TIMESTAMP NOT NULL
);
COMMENT ON TABLE cases IS 'Every case that a run or an item refers to; rows of earlier texts stay, because runs refer to them.';
COMMENT ON COLUMN cases.case_hash IS 'Hash of the code and of what decides a verdict; known_bad, fixed_in and prose are left out.';
COMMENT ON COLUMN cases.name IS 'File name without .py; x<number> for a script extracted from an issue, fix<number>_... for a test of a merged fix.';
COMMENT ON COLUMN cases.origin IS 'curated, fix_test or own.';
COMMENT ON COLUMN cases.current IS 'Whether this is the text that the name stands for now.';
COMMENT ON COLUMN cases.code IS 'The whole file.';
COMMENT ON COLUMN cases.summary IS 'What is done, what should happen, what happens.';
COMMENT ON COLUMN cases.bug_type IS 'Class of data/taxonomy.toml; NULL where it is not given.';
COMMENT ON COLUMN cases.memory_type IS 'Class of data/taxonomy.toml.';
COMMENT ON COLUMN cases.memory_subtype IS 'Class of data/taxonomy.toml.';
COMMENT ON COLUMN cases.consequence IS 'Class of data/taxonomy.toml.';
COMMENT ON COLUMN cases.requires IS 'What it needs: cpu, cuda, mps, memory>=16GiB, torch>=2.1, package:scipy, threads>=2.';
COMMENT ON COLUMN cases.known_bad IS 'Versions on which it was measured to occur.';
COMMENT ON COLUMN cases.fixed_in IS 'First measured version without it.';
COMMENT ON COLUMN cases.signature IS 'The failures that count, one of them is enough (signature.py).';
COMMENT ON COLUMN cases.oracle IS 'What decides: self, exception or signal.';
COMMENT ON COLUMN cases.timeout IS 'Seconds until a run is stopped.';
COMMENT ON COLUMN cases.saved_at IS 'When the row was written (UTC).';

CREATE TABLE case_items (
    case_hash VARCHAR NOT NULL,
    repo VARCHAR NOT NULL,
    number INTEGER NOT NULL,
    relation VARCHAR
);
COMMENT ON TABLE case_items IS 'Which items a case shows; many to many.';
COMMENT ON COLUMN case_items.case_hash IS 'The case.';
COMMENT ON COLUMN case_items.repo IS 'Repository as owner/name.';
COMMENT ON COLUMN case_items.number IS 'Number of the issue or pull request in its repository.';
COMMENT ON COLUMN case_items.relation IS 'same: the input and claim of the report, or a strict reduction of it; sibling: same code or class, other input; NULL: nobody compared them.';

CREATE TABLE artifacts (
    name VARCHAR NOT NULL,
    kind VARCHAR NOT NULL,
    code VARCHAR NOT NULL,
    made_at TIMESTAMP NOT NULL
);
COMMENT ON TABLE artifacts IS 'The texts of a case from the report to the smallest script: verbatim, runnable, minimal.';
COMMENT ON COLUMN artifacts.name IS 'Name of the case.';
COMMENT ON COLUMN artifacts.kind IS 'Of the test of a fix verbatim, and before: the test in the parent of the commit; of a report minimal.';
COMMENT ON COLUMN artifacts.code IS 'The text.';
COMMENT ON COLUMN artifacts.made_at IS 'When it was made (UTC).';

CREATE TABLE edits (
    name VARCHAR NOT NULL,
    kind VARCHAR NOT NULL,
    position INTEGER NOT NULL,
    action VARCHAR NOT NULL,
    line INTEGER,
    before VARCHAR,
    after VARCHAR,
    reason VARCHAR NOT NULL
);
COMMENT ON TABLE edits IS 'What was changed between two artifacts of a case, in order; rows of before 27 November 2026, nothing writes it any more.';
COMMENT ON COLUMN edits.name IS 'Name of the case.';
COMMENT ON COLUMN edits.kind IS 'The artifact that the edits lead to.';
COMMENT ON COLUMN edits.position IS 'Order, from 0.';
COMMENT ON COLUMN edits.action IS 'What was done to the test of a fix.';
COMMENT ON COLUMN edits.line IS 'Line in the text before, from 1.';
COMMENT ON COLUMN edits.before IS 'What stood there.';
COMMENT ON COLUMN edits.after IS 'What stands there now.';
COMMENT ON COLUMN edits.reason IS 'Why.';

CREATE TABLE builds (
    build VARCHAR NOT NULL,
    name VARCHAR NOT NULL,
    version VARCHAR NOT NULL,
    git_commit VARCHAR,
    channel VARCHAR NOT NULL,
    platform VARCHAR NOT NULL,
    python VARCHAR,
    seen_at TIMESTAMP NOT NULL
);
COMMENT ON TABLE builds IS 'PyTorch builds that runs were made on.';
COMMENT ON COLUMN builds.build IS 'Identity: version, commit, Python and platform as the build itself says, or the release alone for shipped verdicts; key of runs and verdicts.';
COMMENT ON COLUMN builds.name IS 'Name it is registered under.';
COMMENT ON COLUMN builds.version IS 'torch.__version__.';
COMMENT ON COLUMN builds.git_commit IS 'torch.version.git_version.';
COMMENT ON COLUMN builds.channel IS 'release, nightly or local.';
COMMENT ON COLUMN builds.platform IS 'Operating system and machine.';
COMMENT ON COLUMN builds.python IS 'Version of its interpreter; NULL where only the release is known (shipped verdicts).';
COMMENT ON COLUMN builds.seen_at IS 'When it was last used (UTC).';

CREATE TABLE environments (
    environment VARCHAR NOT NULL,
    device VARCHAR NOT NULL,
    device_name VARCHAR,
    driver VARCHAR,
    system VARCHAR NOT NULL,
    processor VARCHAR NOT NULL,
    capability VARCHAR,
    threads INTEGER NOT NULL,
    seen_at TIMESTAMP NOT NULL
);
COMMENT ON TABLE environments IS 'Where runs were made: device, system, processor, threads.';
COMMENT ON COLUMN environments.environment IS 'Hash of the other columns but seen_at; key of runs and verdicts.';
COMMENT ON COLUMN environments.device IS 'cpu, cuda or mps.';
COMMENT ON COLUMN environments.device_name IS 'Name of the accelerator.';
COMMENT ON COLUMN environments.driver IS 'Version of its driver.';
COMMENT ON COLUMN environments.system IS 'Operating system; the release of the kernel is a fact of a run.';
COMMENT ON COLUMN environments.processor IS 'Processor model.';
COMMENT ON COLUMN environments.capability IS 'CPU capability as torch names it, e.g. AVX2.';
COMMENT ON COLUMN environments.threads IS 'Threads that torch may use.';
COMMENT ON COLUMN environments.seen_at IS 'When it was last used (UTC).';

CREATE TABLE runs (
    case_hash VARCHAR NOT NULL,
    build VARCHAR NOT NULL,
    environment VARCHAR NOT NULL,
    profile VARCHAR NOT NULL,
    batch INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    injected BOOLEAN NOT NULL,
    outcome VARCHAR NOT NULL,
    detail VARCHAR NOT NULL,
    signature VARCHAR,
    exit_code INTEGER,
    signal INTEGER,
    ended VARCHAR NOT NULL,
    stdout VARCHAR NOT NULL,
    stderr VARCHAR NOT NULL,
    duration DOUBLE NOT NULL,
    cpu DOUBLE NOT NULL,
    peak_memory BIGINT NOT NULL,
    zygote VARCHAR NOT NULL,
    seed INTEGER NOT NULL,
    guarantees VARCHAR[] NOT NULL,
    ran_at TIMESTAMP NOT NULL,
    repeated VARCHAR,
    memory_counted_by VARCHAR,
    kernel VARCHAR
);
COMMENT ON TABLE runs IS 'Every execution of a case: what came of it and what shows it. Append-only.';
COMMENT ON COLUMN runs.case_hash IS 'The case.';
COMMENT ON COLUMN runs.build IS 'The build (builds.build).';
COMMENT ON COLUMN runs.environment IS 'Where (environments.environment).';
COMMENT ON COLUMN runs.profile IS 'hostile or reviewed.';
COMMENT ON COLUMN runs.batch IS '0 for the first series of attempts; a fresh series (--force, confirmation) has the next number; below 0: earlier series of an environment that was once keyed by its kernel, too.';
COMMENT ON COLUMN runs.attempt IS 'Number of the run in its series, from 0.';
COMMENT ON COLUMN runs.injected IS 'Whether the case ran with an injected fault.';
COMMENT ON COLUMN runs.outcome IS 'reproduced, not_reproduced, different_failure, cannot_run, timeout, out_of_memory or sandbox_error.';
COMMENT ON COLUMN runs.detail IS 'One line: what was seen.';
COMMENT ON COLUMN runs.signature IS 'The failure that was seen, if any.';
COMMENT ON COLUMN runs.exit_code IS 'Exit code; NULL where a signal ended the run.';
COMMENT ON COLUMN runs.signal IS 'Signal that ended it.';
COMMENT ON COLUMN runs.ended IS 'How it ended, by the kernel and the sandbox (sandbox/runner.py).';
COMMENT ON COLUMN runs.stdout IS 'End of its output.';
COMMENT ON COLUMN runs.stderr IS 'End of its error output.';
COMMENT ON COLUMN runs.duration IS 'Seconds.';
COMMENT ON COLUMN runs.cpu IS 'Seconds of processor time.';
COMMENT ON COLUMN runs.peak_memory IS 'Bytes.';
COMMENT ON COLUMN runs.zygote IS 'The preloaded process it was forked from; empty for a fresh one.';
COMMENT ON COLUMN runs.seed IS 'Seed it was given.';
COMMENT ON COLUMN runs.guarantees IS 'Guarantees of the sandbox that held.';
COMMENT ON COLUMN runs.ran_at IS 'When (UTC).';
COMMENT ON COLUMN runs.repeated IS 'Why the sandbox of a first try broke, where this is the second one, in a fresh process; empty elsewhere, NULL in runs before schema version 36.';
COMMENT ON COLUMN runs.memory_counted_by IS 'What bounded the memory of all its processes: cgroup (the kernel, and the supervisor) or supervisor; empty without a sandbox, NULL in runs before schema version 36.';
COMMENT ON COLUMN runs.kernel IS 'Release of the kernel on which it ran; NULL where nobody noted it.';

CREATE TABLE verdicts (
    case_hash VARCHAR NOT NULL,
    build VARCHAR NOT NULL,
    environment VARCHAR NOT NULL,
    profile VARCHAR NOT NULL,
    batch INTEGER NOT NULL,
    verdict VARCHAR NOT NULL,
    flaky BOOLEAN NOT NULL,
    k INTEGER NOT NULL,
    n INTEGER NOT NULL,
    detectable_rate DOUBLE,
    control VARCHAR NOT NULL,
    control_build VARCHAR,
    control_k INTEGER NOT NULL,
    control_n INTEGER NOT NULL,
    detail VARCHAR NOT NULL,
    signature VARCHAR,
    decided_at TIMESTAMP NOT NULL,
    provenance VARCHAR NOT NULL DEFAULT 'own',
    written BIGINT
);
COMMENT ON TABLE verdicts IS 'What the runs of a case on a build mean. Own rows are only ever added; shipped rows are replaced as a whole by those of a newer embers.';
COMMENT ON COLUMN verdicts.case_hash IS 'The case.';
COMMENT ON COLUMN verdicts.build IS 'The build (builds.build).';
COMMENT ON COLUMN verdicts.environment IS 'Where (environments.environment).';
COMMENT ON COLUMN verdicts.profile IS 'hostile or reviewed.';
COMMENT ON COLUMN verdicts.batch IS 'Series of runs that it rests on.';
COMMENT ON COLUMN verdicts.verdict IS 'occurs, absent, not_seen, changed, control_failed, untestable or inconclusive.';
COMMENT ON COLUMN verdicts.flaky IS '0 < k < n.';
COMMENT ON COLUMN verdicts.k IS 'Runs that showed the declared failure.';
COMMENT ON COLUMN verdicts.n IS 'Runs that could have shown it.';
COMMENT ON COLUMN verdicts.detectable_rate IS 'Hit rate that n clean runs would have shown with 99 %.';
COMMENT ON COLUMN verdicts.control IS 'build, injected or none.';
COMMENT ON COLUMN verdicts.control_build IS 'Build of a build control.';
COMMENT ON COLUMN verdicts.control_k IS 'Runs of the control that reproduced.';
COMMENT ON COLUMN verdicts.control_n IS 'Runs of the control.';
COMMENT ON COLUMN verdicts.detail IS 'One line: what was seen.';
COMMENT ON COLUMN verdicts.signature IS 'The failure that was seen, if any.';
COMMENT ON COLUMN verdicts.decided_at IS 'When (UTC).';
COMMENT ON COLUMN verdicts.provenance IS 'own: reached by runs of this database; shipped: came with embers, without runs here.';
COMMENT ON COLUMN verdicts.written IS 'Its number in the order of writing, whatever the clock said; NULL for shipped verdicts and those of an older embers.';

CREATE TABLE status_history (
    repo VARCHAR NOT NULL,
    number INTEGER NOT NULL,
    backend VARCHAR NOT NULL,
    reference VARCHAR NOT NULL,
    status VARCHAR NOT NULL,
    previous VARCHAR,
    evidence VARCHAR NOT NULL,
    decided_at TIMESTAMP NOT NULL,
    provenance VARCHAR NOT NULL DEFAULT 'own',
    written BIGINT
);
COMMENT ON TABLE status_history IS 'Every change of an item''s status. Own rows are only ever added; shipped rows are replaced at each mine.';
COMMENT ON COLUMN status_history.repo IS 'Repository as owner/name.';
COMMENT ON COLUMN status_history.number IS 'Number of the issue or pull request in its repository.';
COMMENT ON COLUMN status_history.backend IS 'cpu, cuda or mps.';
COMMENT ON COLUMN status_history.reference IS 'Build that the status speaks of (builds.build).';
COMMENT ON COLUMN status_history.status IS 'open_and_occurs, open_but_absent, closed_but_occurs, declined_occurs, undecided_occurs, undecided_absent, fixed, regressed, undecided, never_reproduced or untestable_here.';
COMMENT ON COLUMN status_history.previous IS 'The status before.';
COMMENT ON COLUMN status_history.evidence IS 'Cases with verdict, k/n, control and detectable rate.';
COMMENT ON COLUMN status_history.decided_at IS 'When (UTC).';
COMMENT ON COLUMN status_history.provenance IS 'own: derived by a re-check from verdicts of this database; shipped: derived at each mine from shipped verdicts alone.';
COMMENT ON COLUMN status_history.written IS 'Its number in the order of writing, whatever the clock said; NULL for shipped statuses and those of an older embers.';

CREATE TABLE announcements (
    repo VARCHAR NOT NULL,
    number INTEGER NOT NULL,
    backend VARCHAR NOT NULL,
    reference VARCHAR NOT NULL,
    kind VARCHAR NOT NULL,
    text VARCHAR NOT NULL,
    announced_at TIMESTAMP NOT NULL,
    written BIGINT,
    is_told BOOLEAN
);
COMMENT ON TABLE announcements IS 'Changes that a re-check has announced; each is announced once.';
COMMENT ON COLUMN announcements.repo IS 'Repository as owner/name.';
COMMENT ON COLUMN announcements.number IS 'Number of the issue or pull request in its repository.';
COMMENT ON COLUMN announcements.backend IS 'cpu, cuda or mps.';
COMMENT ON COLUMN announcements.reference IS 'Build that it speaks of.';
COMMENT ON COLUMN announcements.kind IS 'regressed, fixed, closed_but_occurs, open_but_absent, flapping, or flip: the script of the report behaves otherwise.';
COMMENT ON COLUMN announcements.text IS 'The announced text.';
COMMENT ON COLUMN announcements.announced_at IS 'When (UTC).';
COMMENT ON COLUMN announcements.written IS 'Its number in the order of writing, whatever the clock said; NULL for those of an older embers.';
COMMENT ON COLUMN announcements.is_told IS 'false until all that a re-check prints and writes is done: if it ends before, the next one tells it. NULL for those of an older embers: told.';

CREATE TABLE fix_tests (
    repo VARCHAR NOT NULL,
    commit_sha VARCHAR NOT NULL,
    path VARCHAR,
    owner VARCHAR,
    test VARCHAR,
    change VARCHAR,
    issues VARCHAR[] NOT NULL,
    pull_number INTEGER,
    committed_at TIMESTAMP,
    status VARCHAR NOT NULL,
    reason VARCHAR,
    detail VARCHAR,
    name VARCHAR,
    case_hash VARCHAR,
    first_release VARCHAR,
    first_release_by VARCHAR NOT NULL,
    later VARCHAR,
    rules VARCHAR NOT NULL,
    decided_at TIMESTAMP NOT NULL,
    subject VARCHAR,
    same VARCHAR[],
    provenance VARCHAR DEFAULT 'own'
);
COMMENT ON TABLE fix_tests IS 'Tests that commits which fix issues added or changed: one row per test, or one per file or commit that gave none.';
COMMENT ON COLUMN fix_tests.repo IS 'Repository as owner/name.';
COMMENT ON COLUMN fix_tests.commit_sha IS 'The commit.';
COMMENT ON COLUMN fix_tests.path IS 'The test file, as the commit has it; NULL where the commit changes none.';
COMMENT ON COLUMN fix_tests.owner IS 'Class of the test.';
COMMENT ON COLUMN fix_tests.test IS 'Name of the test method.';
COMMENT ON COLUMN fix_tests.change IS 'added or changed.';
COMMENT ON COLUMN fix_tests.issues IS 'Numbers of the issues that the commit names as fixed.';
COMMENT ON COLUMN fix_tests.pull_number IS 'The pull request that the commit landed, where its message says it.';
COMMENT ON COLUMN fix_tests.committed_at IS 'Time of the commit (UTC).';
COMMENT ON COLUMN fix_tests.status IS 'script, or not_possible.';
COMMENT ON COLUMN fix_tests.reason IS 'Reason of data/fix_tests.toml where there is no script.';
COMMENT ON COLUMN fix_tests.detail IS 'The exact obstacle.';
COMMENT ON COLUMN fix_tests.name IS 'Name of its case.';
COMMENT ON COLUMN fix_tests.case_hash IS 'Hash of its case as it was made, when any failure of the test counted; trial runs belong to it.';
COMMENT ON COLUMN fix_tests.first_release IS 'The first release that contains the commit, as far as tags, branch cuts or days tell; NULL where it is unknown.';
COMMENT ON COLUMN fix_tests.first_release_by IS 'What says so: tag, picked (the wheel of the release has the change although its branch was cut before), branch_cut (the cuts of this release and of the one before are measured), version_txt (the version that the tree named, and estimated cuts of the releases from it on), release_date (estimated cuts alone), or unknown.';
COMMENT ON COLUMN fix_tests.later IS 'The test at the end of the history that was read: same, changed or gone.';
COMMENT ON COLUMN fix_tests.rules IS 'Version of the rules that decided.';
COMMENT ON COLUMN fix_tests.decided_at IS 'When (UTC).';
COMMENT ON COLUMN fix_tests.subject IS 'First line of the message of the commit.';
COMMENT ON COLUMN fix_tests.same IS 'Of the issues those whose own bug the test is taken to show (relation same); the others are siblings.';
COMMENT ON COLUMN fix_tests.provenance IS 'shipped: a fact that comes with embers, without a script; own: read from a clone here.';

CREATE TABLE fix_test_classes (
    name VARCHAR NOT NULL,
    class VARCHAR NOT NULL,
    reason VARCHAR,
    detail VARCHAR,
    failed VARCHAR[] NOT NULL,
    passed VARCHAR[] NOT NULL,
    unusable VARCHAR[] NOT NULL,
    validated_before VARCHAR,
    validated_after VARCHAR,
    fails_on_newest BOOLEAN,
    signature VARCHAR,
    rules VARCHAR NOT NULL,
    decided_at TIMESTAMP NOT NULL,
    unusable_because VARCHAR[],
    variants INTEGER,
    variants_run INTEGER,
    provenance VARCHAR DEFAULT 'own'
);
COMMENT ON TABLE fix_test_classes IS 'What the trial runs of a fix test say: one run per build. A validated test becomes a case with the signature of its failure, judged with controls as every case.';
COMMENT ON COLUMN fix_test_classes.name IS 'Name of the case.';
COMMENT ON COLUMN fix_test_classes.class IS 'validated, doubtful, never_seen, fails_after, or unusable.';
COMMENT ON COLUMN fix_test_classes.reason IS 'Why it is unusable, doubtful or was never seen to fail, or why the failure before the fix of one that fails after it is in doubt: a reason of data/fix_tests.toml; else NULL.';
COMMENT ON COLUMN fix_test_classes.detail IS 'The failure that decided.';
COMMENT ON COLUMN fix_test_classes.failed IS 'Versions on which the test fails in its own body, in order of release.';
COMMENT ON COLUMN fix_test_classes.passed IS 'Versions on which it passes.';
COMMENT ON COLUMN fix_test_classes.unusable IS 'Versions on which it says nothing.';
COMMENT ON COLUMN fix_test_classes.validated_before IS 'The release before the fix on which it fails; NULL where it is not validated.';
COMMENT ON COLUMN fix_test_classes.validated_after IS 'The first release with the fix, on which it passes.';
COMMENT ON COLUMN fix_test_classes.fails_on_newest IS 'Whether it fails on the newest release that it ran on; NULL where it says nothing there.';
COMMENT ON COLUMN fix_test_classes.signature IS 'The failure before the fix; where there is none, the first one after it.';
COMMENT ON COLUMN fix_test_classes.rules IS 'Version of the rules that decided.';
COMMENT ON COLUMN fix_test_classes.decided_at IS 'When (UTC).';
COMMENT ON COLUMN fix_test_classes.unusable_because IS 'For each version of unusable the reason, of data/fix_tests.toml.';
COMMENT ON COLUMN fix_test_classes.variants IS 'How many variants the test has (device-generic or parametrised), the most of any build on which it passes; NULL where it passes on none.';
COMMENT ON COLUMN fix_test_classes.variants_run IS 'How many of them ran there: no more than limits.variants, so a test with more of them passed in part only.';
COMMENT ON COLUMN fix_test_classes.provenance IS 'shipped: comes with embers; own: of runs of this database.';

CREATE TABLE oracle_runs (
    run VARCHAR NOT NULL,
    name VARCHAR NOT NULL,
    case_hash VARCHAR NOT NULL,
    build VARCHAR NOT NULL,
    environment VARCHAR NOT NULL,
    profile VARCHAR NOT NULL,
    oracles VARCHAR[] NOT NULL,
    result VARCHAR NOT NULL,
    detail VARCHAR NOT NULL,
    exit_code INTEGER,
    signal INTEGER,
    compared INTEGER NOT NULL,
    looked VARCHAR NOT NULL,
    duration DOUBLE NOT NULL,
    guarantees VARCHAR[] NOT NULL,
    ran_at TIMESTAMP NOT NULL,
    kernel VARCHAR
);
COMMENT ON TABLE oracle_runs IS 'Runs of scripts under oracles (embers run --oracle); no verdict on a case rests on them.';
COMMENT ON COLUMN oracle_runs.run IS 'Identity of the run, random.';
COMMENT ON COLUMN oracle_runs.name IS 'Name of the case, or of the file of the user.';
COMMENT ON COLUMN oracle_runs.case_hash IS 'The case in cases; of a file of the user the hash of its text.';
COMMENT ON COLUMN oracle_runs.build IS 'The build, as in builds.';
COMMENT ON COLUMN oracle_runs.environment IS 'Where it ran, as in environments.';
COMMENT ON COLUMN oracle_runs.profile IS 'hostile or reviewed.';
COMMENT ON COLUMN oracle_runs.oracles IS 'Oracles that watched: layout, precision.';
COMMENT ON COLUMN oracle_runs.result IS 'found, not_found, nothing_compared, undecided, failed, cannot_run, timeout, out_of_memory or sandbox_error.';
COMMENT ON COLUMN oracle_runs.detail IS 'How the script ended, in one line.';
COMMENT ON COLUMN oracle_runs.exit_code IS 'Exit code of the script; NULL where a signal ended it.';
COMMENT ON COLUMN oracle_runs.signal IS 'Signal that ended it.';
COMMENT ON COLUMN oracle_runs.compared IS 'Calls that were compared; 0 where the script did not reach its end.';
COMMENT ON COLUMN oracle_runs.looked IS 'By oracle, the compared calls and those that could not be decided with the reason, as JSON.';
COMMENT ON COLUMN oracle_runs.duration IS 'Seconds of wall time.';
COMMENT ON COLUMN oracle_runs.guarantees IS 'Guarantees of the sandbox that held.';
COMMENT ON COLUMN oracle_runs.ran_at IS 'When it ended (UTC).';
COMMENT ON COLUMN oracle_runs.kernel IS 'Release of the kernel on which it ran; NULL where nothing ran, or nobody noted it.';

CREATE TABLE oracle_findings (
    run VARCHAR NOT NULL,
    place INTEGER NOT NULL,
    oracle VARCHAR NOT NULL,
    op VARCHAR NOT NULL,
    overload VARCHAR NOT NULL,
    severity VARCHAR NOT NULL,
    value VARCHAR NOT NULL,
    line VARCHAR NOT NULL,
    message VARCHAR NOT NULL,
    finding VARCHAR NOT NULL
);
COMMENT ON TABLE oracle_findings IS 'What oracles found in a run of oracle_runs, in the order of finding.';
COMMENT ON COLUMN oracle_findings.run IS 'The run.';
COMMENT ON COLUMN oracle_findings.place IS 'Order, from 0.';
COMMENT ON COLUMN oracle_findings.oracle IS 'layout or precision.';
COMMENT ON COLUMN oracle_findings.op IS 'Operator with its namespace.';
COMMENT ON COLUMN oracle_findings.overload IS 'Its overload.';
COMMENT ON COLUMN oracle_findings.severity IS 'As in docs/oracles.md.';
COMMENT ON COLUMN oracle_findings.value IS 'Which value is wrong: a result, a destination, the memory around it.';
COMMENT ON COLUMN oracle_findings.line IS 'Line of the script as file:line; empty where unknown.';
COMMENT ON COLUMN oracle_findings.message IS 'One sentence.';
COMMENT ON COLUMN oracle_findings.finding IS 'The whole finding as JSON, its reproducing case included.';

CREATE TABLE bisections (
    session VARCHAR NOT NULL,
    number INTEGER NOT NULL,
    subject VARCHAR NOT NULL,
    batch INTEGER NOT NULL,
    started_at TIMESTAMP NOT NULL,
    finished_at TIMESTAMP,
    kind VARCHAR,
    confidence DOUBLE,
    text VARCHAR,
    commits_before VARCHAR,
    commits_after VARCHAR,
    commits_basis VARCHAR,
    commits_total BIGINT
);
COMMENT ON TABLE bisections IS 'Searches for the build since which a bug is there or gone.';
COMMENT ON COLUMN bisections.session IS 'Hash of what is searched: script, builds, ends, environment.';
COMMENT ON COLUMN bisections.number IS 'Place among the searches of one session; `--fresh` begins a new one.';
COMMENT ON COLUMN bisections.subject IS 'Name of the case, or the script or predicate.';
COMMENT ON COLUMN bisections.batch IS 'Number of the batches of runs that `--fresh` begins.';
COMMENT ON COLUMN bisections.started_at IS 'When it began (UTC).';
COMMENT ON COLUMN bisections.finished_at IS 'When it had an answer (UTC); NULL while it can go on.';
COMMENT ON COLUMN bisections.kind IS 'The answer: broken, fixed, broken and fixed, several, always, never, cannot tell.';
COMMENT ON COLUMN bisections.confidence IS 'Product over the clean answers that it rests on.';
COMMENT ON COLUMN bisections.text IS 'The answer in one sentence.';
COMMENT ON COLUMN bisections.commits_before IS 'The build after which the commits begin; NULL where none were listed.';
COMMENT ON COLUMN bisections.commits_after IS 'The build with which they end.';
COMMENT ON COLUMN bisections.commits_basis IS 'How the two were found in the clone.';
COMMENT ON COLUMN bisections.commits_total IS 'How many commits are between them; the likeliest are in bisection_commits.';

CREATE TABLE bisection_steps (
    session VARCHAR NOT NULL,
    number INTEGER NOT NULL,
    version VARCHAR NOT NULL,
    batch INTEGER NOT NULL,
    answer VARCHAR NOT NULL,
    k INTEGER NOT NULL,
    n INTEGER NOT NULL,
    confidence DOUBLE NOT NULL,
    detail VARCHAR NOT NULL,
    asked_at TIMESTAMP NOT NULL
);
COMMENT ON TABLE bisection_steps IS 'Replies of builds in a bisection, in the order of asking.';
COMMENT ON COLUMN bisection_steps.session IS 'The search, as in bisections.';
COMMENT ON COLUMN bisection_steps.number IS 'The search, as in bisections.';
COMMENT ON COLUMN bisection_steps.version IS 'Version of the build that was asked.';
COMMENT ON COLUMN bisection_steps.batch IS 'How often this build had been asked before.';
COMMENT ON COLUMN bisection_steps.answer IS 'yes, no or unknown.';
COMMENT ON COLUMN bisection_steps.k IS 'Runs that showed the bug.';
COMMENT ON COLUMN bisection_steps.n IS 'Runs that could have shown it.';
COMMENT ON COLUMN bisection_steps.confidence IS 'Probability that a clean answer is not a bug missed by bad luck; 1 for yes.';
COMMENT ON COLUMN bisection_steps.detail IS 'What was seen.';
COMMENT ON COLUMN bisection_steps.asked_at IS 'When (UTC).';

CREATE TABLE bisection_commits (
    session VARCHAR NOT NULL,
    number INTEGER NOT NULL,
    place INTEGER NOT NULL,
    sha VARCHAR NOT NULL,
    committed_at VARCHAR NOT NULL,
    subject VARCHAR NOT NULL,
    pull BIGINT,
    fixes BIGINT[] NOT NULL,
    words VARCHAR[] NOT NULL,
    files VARCHAR[] NOT NULL,
    names_the_issue BOOLEAN NOT NULL
);
COMMENT ON TABLE bisection_commits IS 'Commits between two builds that may have made the change; none of them was built.';
COMMENT ON COLUMN bisection_commits.session IS 'The search, as in bisections.';
COMMENT ON COLUMN bisection_commits.number IS 'The search, as in bisections.';
COMMENT ON COLUMN bisection_commits.place IS 'Its place in the list, the likeliest first, from 0.';
COMMENT ON COLUMN bisection_commits.sha IS 'The commit.';
COMMENT ON COLUMN bisection_commits.committed_at IS 'When it was committed (ISO, UTC).';
COMMENT ON COLUMN bisection_commits.subject IS 'First line of its message.';
COMMENT ON COLUMN bisection_commits.pull IS 'The pull request that it landed, NULL where it names none.';
COMMENT ON COLUMN bisection_commits.fixes IS 'Issues that its message names as fixed.';
COMMENT ON COLUMN bisection_commits.words IS 'Words of the operators of the case that its files or message have, the rarest first.';
COMMENT ON COLUMN bisection_commits.files IS 'Files that it touches, those with such a word first.';
COMMENT ON COLUMN bisection_commits.names_the_issue IS 'Whether it names an issue of the case as fixed.';

CREATE TABLE reductions (
    name VARCHAR NOT NULL,
    build VARCHAR NOT NULL,
    script VARCHAR NOT NULL,
    result VARCHAR NOT NULL,
    detail VARCHAR NOT NULL,
    characters INTEGER NOT NULL,
    kept INTEGER,
    tests INTEGER,
    seconds DOUBLE,
    stopped BOOLEAN,
    decided_at TIMESTAMP NOT NULL
);
COMMENT ON TABLE reductions IS 'Minimisations of the scripts of reports: what came of each.';
COMMENT ON COLUMN reductions.name IS 'The report, as owner/name#number.';
COMMENT ON COLUMN reductions.build IS 'The newest build on which its behaviour was to be kept (builds.build).';
COMMENT ON COLUMN reductions.script IS 'Hash of the script (scripts.script): a changed one is tried again.';
COMMENT ON COLUMN reductions.result IS 'minimized or refused.';
COMMENT ON COLUMN reductions.detail IS 'What the script does, or why it cannot be minimised here.';
COMMENT ON COLUMN reductions.characters IS 'Characters of the script.';
COMMENT ON COLUMN reductions.kept IS 'Characters of the minimal text; NULL where it was refused.';
COMMENT ON COLUMN reductions.tests IS 'Candidates tried.';
COMMENT ON COLUMN reductions.seconds IS 'Wall time.';
COMMENT ON COLUMN reductions.stopped IS 'Whether it ran out of tests or time with what it had.';
COMMENT ON COLUMN reductions.decided_at IS 'When (UTC).';

CREATE TABLE scripts (
    repo VARCHAR NOT NULL,
    number INTEGER NOT NULL,
    script VARCHAR,
    code VARCHAR,
    environment VARCHAR,
    device VARCHAR,
    found_in VARCHAR,
    changes VARCHAR,
    reason VARCHAR,
    detail VARCHAR,
    content_hash VARCHAR NOT NULL,
    rules VARCHAR NOT NULL,
    made_at TIMESTAMP NOT NULL
);
COMMENT ON TABLE scripts IS 'The script of each report, or why there is none: one row per issue.';
COMMENT ON COLUMN scripts.repo IS 'Repository as owner/name.';
COMMENT ON COLUMN scripts.number IS 'Number of the issue.';
COMMENT ON COLUMN scripts.script IS 'Hash of code and variables; NULL where there is no script.';
COMMENT ON COLUMN scripts.code IS 'The program that is run.';
COMMENT ON COLUMN scripts.environment IS 'JSON object: variables that the report sets for the command.';
COMMENT ON COLUMN scripts.device IS 'Accelerator that the report is about (cuda, mps, xpu ...) where the script runs on the CPU instead; else NULL.';
COMMENT ON COLUMN scripts.found_in IS 'body, or comment n (from 1).';
COMMENT ON COLUMN scripts.changes IS 'JSON list of {line, before, after, reason}: what differs from the text of the report.';
COMMENT ON COLUMN scripts.reason IS 'Why there is no script, in one word of data/extract.toml; NULL where there is one.';
COMMENT ON COLUMN scripts.detail IS 'The same in one sentence.';
COMMENT ON COLUMN scripts.content_hash IS 'Hash of the texts that were read.';
COMMENT ON COLUMN scripts.rules IS 'Version of the rules that read them.';
COMMENT ON COLUMN scripts.made_at IS 'When (UTC).';

CREATE TABLE observations (
    script VARCHAR NOT NULL,
    build VARCHAR NOT NULL,
    version VARCHAR NOT NULL,
    environment VARCHAR NOT NULL,
    seed INTEGER NOT NULL,
    batch INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    ending VARCHAR NOT NULL,
    what VARCHAR NOT NULL,
    message VARCHAR NOT NULL,
    frame VARCHAR NOT NULL,
    printed VARCHAR NOT NULL,
    threads INTEGER NOT NULL,
    zygote VARCHAR NOT NULL,
    duration DOUBLE NOT NULL,
    guarantees VARCHAR[] NOT NULL,
    kernel VARCHAR,
    ran_at TIMESTAMP NOT NULL
);
COMMENT ON TABLE observations IS 'How each run of a script ended, and what it printed; only added to.';
COMMENT ON COLUMN observations.script IS 'Hash of the script (scripts.script).';
COMMENT ON COLUMN observations.build IS 'Identity of the build (builds.identity).';
COMMENT ON COLUMN observations.version IS 'Its release.';
COMMENT ON COLUMN observations.environment IS 'Key of the environment (environments).';
COMMENT ON COLUMN observations.seed IS 'Seed that the script and its zygote were given.';
COMMENT ON COLUMN observations.batch IS '1 for the first runs, 2 for the second batch that confirms an absence.';
COMMENT ON COLUMN observations.attempt IS 'Place among the runs of this script, build, environment, seed and batch, from 0.';
COMMENT ON COLUMN observations.ending IS 'ok, exit, exception, signal, timeout, out_of_memory, lacks_api or cannot_run.';
COMMENT ON COLUMN observations.what IS 'Exit code, class of the exception, name of the signal, names that are missing, or why it cannot run; empty for ok.';
COMMENT ON COLUMN observations.message IS 'Message of the exception.';
COMMENT ON COLUMN observations.frame IS 'Last frame of the traceback inside torch, as torch/functional.py:einsum; empty where there is none.';
COMMENT ON COLUMN observations.printed IS 'The end of the standard output, bounded.';
COMMENT ON COLUMN observations.threads IS 'Threads that the script was given.';
COMMENT ON COLUMN observations.zygote IS 'Identity of the process that it was forked from; empty for a fresh process.';
COMMENT ON COLUMN observations.duration IS 'Seconds.';
COMMENT ON COLUMN observations.guarantees IS 'Guarantees of the sandbox that held.';
COMMENT ON COLUMN observations.kernel IS 'Release of the kernel.';
COMMENT ON COLUMN observations.ran_at IS 'When (UTC).';

CREATE TABLE timelines (
    repo VARCHAR NOT NULL,
    number INTEGER NOT NULL,
    script VARCHAR NOT NULL,
    environment VARCHAR NOT NULL,
    device VARCHAR,
    place INTEGER NOT NULL,
    versions VARCHAR[] NOT NULL,
    ending VARCHAR NOT NULL,
    what VARCHAR NOT NULL,
    shown VARCHAR NOT NULL,
    runs INTEGER NOT NULL,
    confirmed BOOLEAN NOT NULL,
    match VARCHAR,
    evidence VARCHAR NOT NULL,
    flip VARCHAR,
    at_fix BOOLEAN,
    provenance VARCHAR NOT NULL,
    decided_at TIMESTAMP NOT NULL
);
COMMENT ON TABLE timelines IS 'The segments of the timeline of each report: neighbouring builds on which its script behaves equally; gaps (lacks_api, cannot_run) are rows, too.';
COMMENT ON COLUMN timelines.repo IS 'Repository as owner/name.';
COMMENT ON COLUMN timelines.number IS 'Number of the issue.';
COMMENT ON COLUMN timelines.script IS 'Hash of the script.';
COMMENT ON COLUMN timelines.environment IS 'Key of the environment (environments); that of the machine which made the shipped facts for these.';
COMMENT ON COLUMN timelines.device IS 'As in scripts, of the script that ran.';
COMMENT ON COLUMN timelines.place IS 'Place of the segment, from 0 for the oldest builds.';
COMMENT ON COLUMN timelines.versions IS 'Releases of the segment, the oldest first.';
COMMENT ON COLUMN timelines.ending IS 'As in observations; mixed where runs on one build end differently.';
COMMENT ON COLUMN timelines.what IS 'As in observations; for mixed: k of n of each ending.';
COMMENT ON COLUMN timelines.shown IS 'Message or printed text of the segment, bounded; empty for shipped facts.';
COMMENT ON COLUMN timelines.runs IS 'Runs on the newest build of the segment.';
COMMENT ON COLUMN timelines.confirmed IS 'Whether these runs, with a second batch, are enough to say that what the segment before showed is gone.';
COMMENT ON COLUMN timelines.match IS 'as_reported, as_expected or other; NULL where the report is about another device.';
COMMENT ON COLUMN timelines.evidence IS 'What of the observation stands where in the report; for other, the error that the report quotes.';
COMMENT ON COLUMN timelines.flip IS 'Kind of the border to the segment before: ending, class, value or wording; NULL for the first.';
COMMENT ON COLUMN timelines.at_fix IS 'Whether the border is at the release that has the known fix; NULL where no fix is known or it is none of the borders.';
COMMENT ON COLUMN timelines.provenance IS 'own or shipped.';
COMMENT ON COLUMN timelines.decided_at IS 'When (UTC).';

CREATE VIEW labels AS
SELECT repo, number, unnest(labels) AS name, source, fetched_at FROM items;
COMMENT ON VIEW labels IS 'Current labels of the items, one row each (from items.labels).';

CREATE VIEW latest_verdicts AS
WITH newest AS (
    FROM verdicts
    QUALIFY row_number() OVER (
        PARTITION BY case_hash, build, environment ORDER BY written DESC NULLS LAST, decided_at DESC, batch DESC
    ) = 1
)
SELECT n.*
FROM newest n
LEFT JOIN builds b ON b.build = n.build
LEFT JOIN environments e ON e.environment = n.environment
-- builds of shipped verdicts are known by release: an own verdict on that release, in that environment, replaces them
QUALIFY n.provenance = 'own' OR NOT bool_or(n.provenance = 'own') OVER (
    PARTITION BY n.case_hash, split_part(b.version, '+', 1), e.device, e.device_name, e.processor, e.capability, e.system
);
COMMENT ON VIEW latest_verdicts IS 'The verdict that counts for each case, build and environment: the one that was written last; a shipped one only where there is no own one of the same release and environment.';

CREATE VIEW statuses AS
SELECT * EXCLUDE (previous)
FROM status_history
QUALIFY row_number() OVER (
    PARTITION BY repo, number, backend ORDER BY provenance = 'own' DESC, written DESC NULLS LAST, decided_at DESC
) = 1;
COMMENT ON VIEW statuses IS 'The status that counts for each item and backend: the own one that was written last, else the shipped one.';

CREATE VIEW item_classes AS
WITH known AS ( -- each class once: three lists of distinct ones would be counted one by one
    SELECT DISTINCT repo, number, scheme || '=' || value AS class, 2 AS sure FROM gold_labels
    UNION ALL
    SELECT repo, number, scheme || '=' || value, max(coalesce(list_position(['medium', 'high'], confidence), 0)) FROM predictions p
    WHERE NOT EXISTS (FROM gold_labels g WHERE g.repo = p.repo AND g.number = p.number AND g.scheme = p.scheme) GROUP BY ALL
)
SELECT repo, number, list_sort(list(class)) AS classes, list_sort(list(class) FILTER (sure >= 1)) AS medium_classes,
    list_sort(list(class) FILTER (sure = 2)) AS high_classes
FROM known GROUP BY ALL;
COMMENT ON VIEW item_classes IS 'Classes of each item as `scheme=value`: the gold labels of a scheme, else what the classifier says.';

CREATE VIEW current_timelines AS
WITH reached AS ( -- the newest release on which the script of the report, as its text gives it now, says anything
    SELECT *, provenance = 'own' AS is_own,
           max(CASE WHEN ending NOT IN ('lacks_api', 'cannot_run') THEN
               list_max([string_split(v, '.')::INTEGER[] FOR v IN versions IF regexp_full_match(v, '[0-9]+(\.[0-9]+)*')])
               END) OVER one AS newest,
           last_value(coalesce("match" = 'as_reported', false)) OVER (
               one ORDER BY place ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) AS occurs
    FROM timelines t
    WHERE NOT EXISTS (
        FROM scripts s WHERE s.repo = t.repo AND s.number = t.number
        AND s.script IS DISTINCT FROM t.script AND s.reason IS DISTINCT FROM 'not_mined')
    WINDOW one AS (PARTITION BY repo, number, script, environment, provenance)
)
SELECT * EXCLUDE (is_own, newest, occurs) FROM reached
QUALIFY dense_rank() OVER (
    PARTITION BY repo, number
    ORDER BY newest DESC NULLS LAST, is_own DESC, occurs DESC, decided_at DESC, environment, script) = 1;
COMMENT ON VIEW current_timelines IS 'Of each item the timeline of the script that its report gives now: the one that reaches the newest release, own before shipped, what occurs before what does not, then the newest.';
