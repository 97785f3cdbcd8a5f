-- Bisections and what they asked, so that an interrupted one goes on where it was.
CREATE TABLE bisections (
    session VARCHAR NOT NULL,
    number INTEGER NOT NULL,
    subject VARCHAR NOT NULL,
    batch INTEGER NOT NULL,
    started_at TIMESTAMP NOT NULL,
    finished_at TIMESTAMP,
    kind VARCHAR,
    confidence DOUBLE,
    text VARCHAR
);
COMMENT ON TABLE bisections IS 'Searches for the build since which a bug is there or gone.';
COMMENT ON COLUMN bisections.session IS 'Hash of what is searched: script, builds, ends, environment.';
COMMENT ON COLUMN bisections.number IS 'Place among the searches of one session; `--fresh` begins a new one.';
COMMENT ON COLUMN bisections.subject IS 'Name of the case, or the script or predicate.';
COMMENT ON COLUMN bisections.batch IS 'Number of the batches of runs that `--fresh` begins.';
COMMENT ON COLUMN bisections.started_at IS 'When it began (UTC).';
COMMENT ON COLUMN bisections.finished_at IS 'When it had an answer (UTC); NULL while it can go on.';
COMMENT ON COLUMN bisections.kind IS 'The answer: broken, fixed, broken and fixed, several, always, never, cannot tell.';
COMMENT ON COLUMN bisections.confidence IS 'Product over the clean answers that it rests on.';
COMMENT ON COLUMN bisections.text IS 'The answer in one sentence.';
CREATE TABLE bisection_steps (
    session VARCHAR NOT NULL,
    number INTEGER NOT NULL,
    version VARCHAR NOT NULL,
    batch INTEGER NOT NULL,
    answer VARCHAR NOT NULL,
    k INTEGER NOT NULL,
    n INTEGER NOT NULL,
    confidence DOUBLE NOT NULL,
    detail VARCHAR NOT NULL,
    asked_at TIMESTAMP NOT NULL
);
COMMENT ON TABLE bisection_steps IS 'Replies of builds in a bisection, in the order of asking.';
COMMENT ON COLUMN bisection_steps.session IS 'The search, as in bisections.';
COMMENT ON COLUMN bisection_steps.number IS 'The search, as in bisections.';
COMMENT ON COLUMN bisection_steps.version IS 'Version of the build that was asked.';
COMMENT ON COLUMN bisection_steps.batch IS 'How often this build had been asked before.';
COMMENT ON COLUMN bisection_steps.answer IS 'yes, no or unknown.';
COMMENT ON COLUMN bisection_steps.k IS 'Runs that showed the bug.';
COMMENT ON COLUMN bisection_steps.n IS 'Runs that could have shown it.';
COMMENT ON COLUMN bisection_steps.confidence IS 'Probability that a clean answer is not a bug missed by bad luck; 1 for yes.';
COMMENT ON COLUMN bisection_steps.detail IS 'What was seen.';
COMMENT ON COLUMN bisection_steps.asked_at IS 'When (UTC).';
