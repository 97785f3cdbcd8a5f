-- All runs of fix tests are read by the rules that class them.
ALTER TABLE fix_test_classes DROP COLUMN outcome_rules;
