-- Tests that merged fixes brought: what became of each, and what runs say of it. Facts only; scripts stand in cases.

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
    decided_at TIMESTAMP NOT NULL
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
COMMENT ON COLUMN fix_tests.first_release IS 'The first release that contains the commit; NULL where it is unknown.';
COMMENT ON COLUMN fix_tests.first_release_by IS 'What says so: tag, version_txt (the version that the tree named, which can be one release early), release_date, or unknown.';
COMMENT ON COLUMN fix_tests.later IS 'The test at the end of the history that was read: same, changed or gone.';
COMMENT ON COLUMN fix_tests.rules IS 'Version of the rules that decided.';
COMMENT ON COLUMN fix_tests.decided_at IS 'When (UTC).';

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
    decided_at TIMESTAMP NOT NULL
);
COMMENT ON TABLE fix_test_classes IS 'What the trial runs of a fix test say: one run per build. A validated test becomes a case with the signature of its failure, judged with controls as every case.';
COMMENT ON COLUMN fix_test_classes.name IS 'Name of the case.';
COMMENT ON COLUMN fix_test_classes.class IS 'validated, never_seen, fails_after, or unusable.';
COMMENT ON COLUMN fix_test_classes.reason IS 'Why it is unusable: a reason of data/fix_tests.toml.';
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
COMMENT ON COLUMN cases.name IS 'File name without .py; x<number> for a script extracted from an issue, fix<number>_... for a test of a merged fix.';
COMMENT ON COLUMN cases.origin IS 'curated, fix_test, extracted, synthesized, or own (of a folder of the user).';
