-- The commits between the two builds of a bisection's last change, as they were listed from a clone.
ALTER TABLE bisections ADD COLUMN commits_before VARCHAR;
ALTER TABLE bisections ADD COLUMN commits_after VARCHAR;
ALTER TABLE bisections ADD COLUMN commits_basis VARCHAR;
ALTER TABLE bisections ADD COLUMN commits_total BIGINT;
COMMENT ON COLUMN bisections.commits_before IS 'The build after which the commits begin; NULL where none were listed.';
COMMENT ON COLUMN bisections.commits_after IS 'The build with which they end.';
COMMENT ON COLUMN bisections.commits_basis IS 'How the two were found in the clone.';
COMMENT ON COLUMN bisections.commits_total IS 'How many commits are between them; the likeliest are in bisection_commits.';
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
