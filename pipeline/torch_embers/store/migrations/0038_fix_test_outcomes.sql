-- Facts of an earlier measurement stay beside those of a newer one: the version of the rules that read its runs is told.
ALTER TABLE fix_test_classes ADD COLUMN outcome_rules VARCHAR;
COMMENT ON COLUMN fix_test_classes.outcome_rules IS 'Version of the rules by which the runs were read; older than `rules` where only the outcomes of an earlier measurement are kept.';
