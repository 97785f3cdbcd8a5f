-- The script of a report is no case any more: what it does is in timelines.
CREATE TEMPORARY TABLE extracted AS SELECT DISTINCT case_hash, name FROM cases WHERE origin = 'extracted';
DELETE FROM runs WHERE case_hash IN (SELECT case_hash FROM extracted);
DELETE FROM verdicts WHERE case_hash IN (SELECT case_hash FROM extracted);
DELETE FROM oracle_findings WHERE run IN (
    SELECT run FROM oracle_runs WHERE case_hash IN (SELECT case_hash FROM extracted));
DELETE FROM oracle_runs WHERE case_hash IN (SELECT case_hash FROM extracted);
DELETE FROM case_items WHERE case_hash IN (SELECT case_hash FROM extracted);
DELETE FROM artifacts WHERE name IN (SELECT name FROM extracted);
DELETE FROM edits WHERE name IN (SELECT name FROM extracted);
DELETE FROM reductions WHERE name IN (SELECT name FROM extracted);
DELETE FROM cases WHERE origin = 'extracted';
DROP TABLE extracted;
DROP TABLE extractions;
COMMENT ON COLUMN cases.origin IS 'curated, fix_test, synthesized or own.';
COMMENT ON COLUMN edits.action IS 'What was done to a test of a fix, or the pass of the minimiser.';
