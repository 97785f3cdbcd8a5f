-- Scripts that were run under oracles, and what the oracles found: kept apart from the verdicts of cases.

CREATE TABLE oracle_runs (
    run VARCHAR NOT NULL,
    name VARCHAR NOT NULL,
    case_hash VARCHAR NOT NULL,
    build VARCHAR NOT NULL,
    environment VARCHAR NOT NULL,
    profile VARCHAR NOT NULL,
    oracles VARCHAR[] NOT NULL,
    result VARCHAR NOT NULL,
    detail VARCHAR NOT NULL,
    exit_code INTEGER,
    signal INTEGER,
    compared INTEGER NOT NULL,
    looked VARCHAR NOT NULL,
    duration DOUBLE NOT NULL,
    guarantees VARCHAR[] NOT NULL,
    ran_at TIMESTAMP NOT NULL
);
COMMENT ON TABLE oracle_runs IS 'Runs of scripts under oracles (embers run --oracle); no verdict on a case rests on them.';
COMMENT ON COLUMN oracle_runs.run IS 'Identity of the run, random.';
COMMENT ON COLUMN oracle_runs.name IS 'Name of the case, or of the file of the user.';
COMMENT ON COLUMN oracle_runs.case_hash IS 'The case in cases; of a file of the user the hash of its text.';
COMMENT ON COLUMN oracle_runs.build IS 'The build, as in builds.';
COMMENT ON COLUMN oracle_runs.environment IS 'Where it ran, as in environments.';
COMMENT ON COLUMN oracle_runs.profile IS 'hostile or reviewed.';
COMMENT ON COLUMN oracle_runs.oracles IS 'Oracles that watched: layout, precision.';
COMMENT ON COLUMN oracle_runs.result IS 'found, not_found, nothing_compared, undecided, failed, cannot_run, timeout, out_of_memory or sandbox_error.';
COMMENT ON COLUMN oracle_runs.detail IS 'How the script ended, in one line.';
COMMENT ON COLUMN oracle_runs.exit_code IS 'Exit code of the script; NULL where a signal ended it.';
COMMENT ON COLUMN oracle_runs.signal IS 'Signal that ended it.';
COMMENT ON COLUMN oracle_runs.compared IS 'Calls that were compared; 0 where the script did not reach its end.';
COMMENT ON COLUMN oracle_runs.looked IS 'By oracle, the compared calls and those that could not be decided with the reason, as JSON.';
COMMENT ON COLUMN oracle_runs.duration IS 'Seconds of wall time.';
COMMENT ON COLUMN oracle_runs.guarantees IS 'Guarantees of the sandbox that held.';
COMMENT ON COLUMN oracle_runs.ran_at IS 'When it ended (UTC).';

CREATE TABLE oracle_findings (
    run VARCHAR NOT NULL,
    place INTEGER NOT NULL,
    oracle VARCHAR NOT NULL,
    op VARCHAR NOT NULL,
    overload VARCHAR NOT NULL,
    severity VARCHAR NOT NULL,
    value VARCHAR NOT NULL,
    line VARCHAR NOT NULL,
    message VARCHAR NOT NULL,
    finding VARCHAR NOT NULL
);
COMMENT ON TABLE oracle_findings IS 'What oracles found in a run of oracle_runs, in the order of finding.';
COMMENT ON COLUMN oracle_findings.run IS 'The run.';
COMMENT ON COLUMN oracle_findings.place IS 'Order, from 0.';
COMMENT ON COLUMN oracle_findings.oracle IS 'layout or precision.';
COMMENT ON COLUMN oracle_findings.op IS 'Operator with its namespace.';
COMMENT ON COLUMN oracle_findings.overload IS 'Its overload.';
COMMENT ON COLUMN oracle_findings.severity IS 'As in docs/oracles.md.';
COMMENT ON COLUMN oracle_findings.value IS 'Which value is wrong: a result, a destination, the memory around it.';
COMMENT ON COLUMN oracle_findings.line IS 'Line of the script as file:line; empty where unknown.';
COMMENT ON COLUMN oracle_findings.message IS 'One sentence.';
COMMENT ON COLUMN oracle_findings.finding IS 'The whole finding as JSON, its reproducing case included.';
