-- Why an issue was closed, from everything that its last closing says: the pull request or commit that did it, and the
-- words with which it was closed (view closings).
--
-- The view is made by 0034, which replaced this one.
SELECT 1;
