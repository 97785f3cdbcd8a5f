-- What a test fails at before the fix need not be what the fix is about: rules compare it with the subject of the commit and with the test before it.
ALTER TABLE fix_tests ADD COLUMN subject VARCHAR;
COMMENT ON COLUMN fix_tests.subject IS 'First line of the message of the commit.';
COMMENT ON COLUMN fix_tests.first_release IS 'The first release that contains the commit, as far as tags, branch cuts or days tell; NULL where it is unknown.';
COMMENT ON COLUMN fix_tests.first_release_by IS 'What says so: tag, version_txt (the version that the tree named, and the branch cuts of the releases from it on), release_date (branch cuts alone), or unknown.';
COMMENT ON COLUMN fix_test_classes.class IS 'validated, doubtful, never_seen, fails_after, or unusable.';
COMMENT ON COLUMN fix_test_classes.reason IS 'Why it is unusable, doubtful or was never seen to fail, or why the failure before the fix of one that fails after it is in doubt: a reason of data/fix_tests.toml; else NULL.';
COMMENT ON COLUMN artifacts.kind IS 'verbatim, runnable or minimal; of a test of a merged fix also before: the test in the parent of the commit.';
