-- A control with an injected fault is called `injected`, as everywhere else.
ALTER TABLE runs RENAME COLUMN planted TO injected;
UPDATE verdicts SET control = 'injected' WHERE control = 'planted';
COMMENT ON COLUMN verdicts.control IS 'build, injected or none.';
