-- What became of each script that was to be made small, so that `embers minimize --all` goes on where it was.
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
COMMENT ON TABLE reductions IS 'Minimisations of extracted scripts by build: what came of each.';
COMMENT ON COLUMN reductions.name IS 'Name of the case.';
COMMENT ON COLUMN reductions.build IS 'Where it was to fail (builds.build).';
COMMENT ON COLUMN reductions.script IS 'SHA-256 of the runnable text: a changed one is tried again.';
COMMENT ON COLUMN reductions.result IS 'minimized or refused.';
COMMENT ON COLUMN reductions.detail IS 'What the script shows, or why it cannot be minimised here.';
COMMENT ON COLUMN reductions.characters IS 'Characters of the runnable text.';
COMMENT ON COLUMN reductions.kept IS 'Characters of the minimal text; NULL where it was refused.';
COMMENT ON COLUMN reductions.tests IS 'Candidates tried.';
COMMENT ON COLUMN reductions.seconds IS 'Wall time.';
COMMENT ON COLUMN reductions.stopped IS 'Whether it ran out of tests or time with what it had.';
COMMENT ON COLUMN reductions.decided_at IS 'When (UTC).';

COMMENT ON COLUMN announcements.kind IS 'regressed, fixed, closed_but_occurs, open_but_absent or flapping.';
