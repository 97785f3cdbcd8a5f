-- A test that was never seen to fail has a reason, too, since what a build lacks before the fix no longer makes it unusable.
COMMENT ON COLUMN fix_test_classes.reason IS 'Why it is unusable or was never seen to fail: a reason of data/fix_tests.toml; NULL for the other classes.';
