-- No program makes cases of reports any more: what the script of a report does is in timelines.
CREATE TEMPORARY TABLE made AS SELECT DISTINCT case_hash, name FROM cases WHERE origin IN ('extracted', 'synthesized');
DELETE FROM runs WHERE case_hash IN (SELECT case_hash FROM made);
DELETE FROM verdicts WHERE case_hash IN (SELECT case_hash FROM made);
DELETE FROM oracle_findings WHERE run IN (
    SELECT run FROM oracle_runs WHERE case_hash IN (SELECT case_hash FROM made));
DELETE FROM oracle_runs WHERE case_hash IN (SELECT case_hash FROM made);
DELETE FROM case_items WHERE case_hash IN (SELECT case_hash FROM made);
DELETE FROM artifacts WHERE name IN (SELECT name FROM made);
DELETE FROM edits WHERE name IN (SELECT name FROM made);
DELETE FROM reductions WHERE name IN (SELECT name FROM made);
DELETE FROM cases WHERE origin IN ('extracted', 'synthesized');
DROP TABLE made;
DROP TABLE extractions;
COMMENT ON COLUMN cases.origin IS 'curated, fix_test or own.';
-- The runnable text of a test is its case; the passes of a reduction are printed, and nothing reads them.
DELETE FROM artifacts WHERE kind = 'runnable';
DELETE FROM edits WHERE kind = 'minimal';
COMMENT ON COLUMN artifacts.kind IS 'Of the test of a fix verbatim, and before: the test in the parent of the commit; of a report minimal.';
COMMENT ON COLUMN edits.action IS 'What was done to the test of a fix.';
