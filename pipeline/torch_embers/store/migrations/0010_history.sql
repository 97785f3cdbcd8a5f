-- What the history of a repository says of its commits beyond their messages.

ALTER TABLE commits ADD COLUMN line VARCHAR;
COMMENT ON COLUMN commits.line IS 'main: a first parent of HEAD, so merged; release: of a release branch or tag; branch: inside a branch that was merged; foreign: came with the history of another repository; NULL where the source does not say.';
ALTER TABLE commits ADD COLUMN files INTEGER;
COMMENT ON COLUMN commits.files IS 'Files it changes; commit_files can hold fewer. NULL where they are unknown.';
COMMENT ON TABLE commits IS 'Commits of a clone, or of a file of commits.';
COMMENT ON COLUMN commits.pull_number IS 'Pull request it landed: by ''Pull Request resolved'', by the number that ends its title, or by ''Merge pull request''; NULL where the number is another repository''s.';
ALTER TABLE commit_files ADD COLUMN change VARCHAR;
COMMENT ON COLUMN commit_files.change IS 'added, modified, deleted, renamed, copied or changed; NULL in rows of older releases.';
COMMENT ON COLUMN commit_files.additions IS 'Lines added; NULL for binary files, and where the clone lacks the contents.';
COMMENT ON COLUMN commit_files.deletions IS 'Lines deleted; NULL for binary files, and where the clone lacks the contents.';

-- Statements without a time of change rank above those of a git history now, so their stamps move by two days.
UPDATE items SET stamps = map_from_entries([
    {'key': e.key, 'value': CASE WHEN e.value = TIMESTAMP '0001-01-01' THEN TIMESTAMP '0001-01-03' ELSE e.value END}
    FOR e IN map_entries(stamps)
]) WHERE stamps IS NOT NULL AND list_contains(map_values(stamps), TIMESTAMP '0001-01-01');
