-- Why an issue was closed, from everything that its last closing says (view closings); where two statements contradict
-- each other, or one is older than a reopening, nothing is guessed: unknown, with what was seen.
--
-- The view is made by 0034, which replaced this one.
SELECT 1;
