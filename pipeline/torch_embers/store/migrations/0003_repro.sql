-- What reproduction keeps: cases and where they come from, builds, runs, verdicts, statuses.
-- Runs, verdicts, status_history and announcements are only ever added to; the other tables hold the present state.

CREATE TABLE cases (
    case_hash VARCHAR NOT NULL,
    name VARCHAR NOT NULL,
    origin VARCHAR NOT NULL,
    current BOOLEAN NOT NULL,
    code VARCHAR NOT NULL,
    summary VARCHAR NOT NULL,
    bug_type VARCHAR,
    memory_type VARCHAR,
    memory_subtype VARCHAR,
    consequence VARCHAR,
    requires VARCHAR[] NOT NULL,
    known_bad VARCHAR[] NOT NULL,
    fixed_in VARCHAR,
    signature VARCHAR[] NOT NULL,
    oracle VARCHAR NOT NULL,
    timeout DOUBLE NOT NULL,
    saved_at TIMESTAMP NOT NULL
);
COMMENT ON TABLE cases IS 'Every case that a run or an item refers to; rows of earlier texts stay, because runs refer to them.';
COMMENT ON COLUMN cases.case_hash IS 'Hash of the code and of what decides a verdict; known_bad, fixed_in and prose are left out.';
COMMENT ON COLUMN cases.name IS 'File name without .py; x<number> for a script extracted from an issue.';
COMMENT ON COLUMN cases.origin IS 'curated, extracted, synthesized, or own (of a folder of the user).';
COMMENT ON COLUMN cases.current IS 'Whether this is the text that the name stands for now.';
COMMENT ON COLUMN cases.code IS 'The whole file.';
COMMENT ON COLUMN cases.summary IS 'What is done, what should happen, what happens.';
COMMENT ON COLUMN cases.bug_type IS 'Class of data/taxonomy.toml; NULL where it is not given.';
COMMENT ON COLUMN cases.memory_type IS 'Class of data/taxonomy.toml.';
COMMENT ON COLUMN cases.memory_subtype IS 'Class of data/taxonomy.toml.';
COMMENT ON COLUMN cases.consequence IS 'Class of data/taxonomy.toml.';
COMMENT ON COLUMN cases.requires IS 'What it needs: cpu, cuda, mps, memory>=16GiB, torch>=2.1, package:scipy, threads>=2.';
COMMENT ON COLUMN cases.known_bad IS 'Versions on which it was measured to occur.';
COMMENT ON COLUMN cases.fixed_in IS 'First measured version without it.';
COMMENT ON COLUMN cases.signature IS 'The failures that count, one of them is enough (oracles/signature.py).';
COMMENT ON COLUMN cases.oracle IS 'What decides: self, exception or signal.';
COMMENT ON COLUMN cases.timeout IS 'Seconds until a run is stopped.';
COMMENT ON COLUMN cases.saved_at IS 'When the row was written (UTC).';

CREATE TABLE case_items (
    case_hash VARCHAR NOT NULL,
    repo VARCHAR NOT NULL,
    number INTEGER NOT NULL
);
COMMENT ON TABLE case_items IS 'Which items a case shows; many to many.';
COMMENT ON COLUMN case_items.case_hash IS 'The case.';
COMMENT ON COLUMN case_items.repo IS 'Repository as owner/name.';
COMMENT ON COLUMN case_items.number IS 'Number of the issue or pull request in its repository.';

CREATE TABLE artifacts (
    name VARCHAR NOT NULL,
    kind VARCHAR NOT NULL,
    code VARCHAR NOT NULL,
    made_at TIMESTAMP NOT NULL
);
COMMENT ON TABLE artifacts IS 'The texts of a case from the report to the smallest script: verbatim, runnable, minimal.';
COMMENT ON COLUMN artifacts.name IS 'Name of the case.';
COMMENT ON COLUMN artifacts.kind IS 'verbatim, runnable or minimal.';
COMMENT ON COLUMN artifacts.code IS 'The text.';
COMMENT ON COLUMN artifacts.made_at IS 'When it was made (UTC).';

CREATE TABLE edits (
    name VARCHAR NOT NULL,
    kind VARCHAR NOT NULL,
    position INTEGER NOT NULL,
    action VARCHAR NOT NULL,
    line INTEGER,
    before VARCHAR,
    after VARCHAR,
    reason VARCHAR NOT NULL
);
COMMENT ON TABLE edits IS 'What was changed between two artifacts of a case, in order.';
COMMENT ON COLUMN edits.name IS 'Name of the case.';
COMMENT ON COLUMN edits.kind IS 'The artifact that the edits lead to.';
COMMENT ON COLUMN edits.position IS 'Order, from 0.';
COMMENT ON COLUMN edits.action IS 'Edit action of data/extraction.toml, or the pass of the minimiser.';
COMMENT ON COLUMN edits.line IS 'Line in the text before, from 1.';
COMMENT ON COLUMN edits.before IS 'What stood there.';
COMMENT ON COLUMN edits.after IS 'What stands there now.';
COMMENT ON COLUMN edits.reason IS 'Why.';

CREATE TABLE extractions (
    repo VARCHAR NOT NULL,
    number INTEGER NOT NULL,
    status VARCHAR NOT NULL,
    name VARCHAR,
    reason VARCHAR,
    detail VARCHAR,
    expectation VARCHAR[],
    content_hash VARCHAR,
    rules VARCHAR NOT NULL,
    decided_at TIMESTAMP NOT NULL
);
COMMENT ON TABLE extractions IS 'What became of each candidate: exactly one row, a case or the reason why there is none.';
COMMENT ON COLUMN extractions.repo IS 'Repository as owner/name.';
COMMENT ON COLUMN extractions.number IS 'Number of the issue or pull request in its repository.';
COMMENT ON COLUMN extractions.status IS 'curated, extracted, synthesized or not_possible.';
COMMENT ON COLUMN extractions.name IS 'Name of its (first) case; NULL where there is none.';
COMMENT ON COLUMN extractions.reason IS 'Reason of data/extraction.toml where there is no case.';
COMMENT ON COLUMN extractions.detail IS 'The exact obstacle, or where the script comes from.';
COMMENT ON COLUMN extractions.expectation IS 'Signatures that the text reports.';
COMMENT ON COLUMN extractions.content_hash IS 'Hash of the texts it was decided on.';
COMMENT ON COLUMN extractions.rules IS 'Version of the rules that decided, and hash of data/cases/uncovered.toml.';
COMMENT ON COLUMN extractions.decided_at IS 'When (UTC).';

CREATE TABLE builds (
    build VARCHAR NOT NULL,
    name VARCHAR NOT NULL,
    version VARCHAR NOT NULL,
    git_commit VARCHAR,
    channel VARCHAR NOT NULL,
    platform VARCHAR NOT NULL,
    python VARCHAR NOT NULL,
    seen_at TIMESTAMP NOT NULL
);
COMMENT ON TABLE builds IS 'PyTorch builds that runs were made on.';
COMMENT ON COLUMN builds.build IS 'Identity: version, commit, Python and platform as the build reports them; key of runs and verdicts.';
COMMENT ON COLUMN builds.name IS 'Name it is registered under.';
COMMENT ON COLUMN builds.version IS 'torch.__version__.';
COMMENT ON COLUMN builds.git_commit IS 'torch.version.git_version.';
COMMENT ON COLUMN builds.channel IS 'release, nightly or local.';
COMMENT ON COLUMN builds.platform IS 'Operating system and machine.';
COMMENT ON COLUMN builds.python IS 'Version of its interpreter.';
COMMENT ON COLUMN builds.seen_at IS 'When it was last used (UTC).';

CREATE TABLE environments (
    environment VARCHAR NOT NULL,
    device VARCHAR NOT NULL,
    device_name VARCHAR,
    driver VARCHAR,
    system VARCHAR NOT NULL,
    processor VARCHAR NOT NULL,
    capability VARCHAR,
    threads INTEGER NOT NULL,
    seen_at TIMESTAMP NOT NULL
);
COMMENT ON TABLE environments IS 'Where runs were made: device, system, processor, threads.';
COMMENT ON COLUMN environments.environment IS 'Hash of the other columns but seen_at; key of runs and verdicts.';
COMMENT ON COLUMN environments.device IS 'cpu, cuda or mps.';
COMMENT ON COLUMN environments.device_name IS 'Name of the accelerator.';
COMMENT ON COLUMN environments.driver IS 'Version of its driver.';
COMMENT ON COLUMN environments.system IS 'Operating system with its version.';
COMMENT ON COLUMN environments.processor IS 'Processor model.';
COMMENT ON COLUMN environments.capability IS 'CPU capability as torch names it, e.g. AVX2.';
COMMENT ON COLUMN environments.threads IS 'Threads that torch may use.';
COMMENT ON COLUMN environments.seen_at IS 'When it was last used (UTC).';

CREATE TABLE runs (
    case_hash VARCHAR NOT NULL,
    build VARCHAR NOT NULL,
    environment VARCHAR NOT NULL,
    profile VARCHAR NOT NULL,
    batch INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    planted BOOLEAN NOT NULL,
    outcome VARCHAR NOT NULL,
    detail VARCHAR NOT NULL,
    signature VARCHAR,
    exit_code INTEGER,
    signal INTEGER,
    ended VARCHAR NOT NULL,
    stdout VARCHAR NOT NULL,
    stderr VARCHAR NOT NULL,
    duration DOUBLE NOT NULL,
    cpu DOUBLE NOT NULL,
    peak_memory BIGINT NOT NULL,
    zygote VARCHAR NOT NULL,
    seed INTEGER NOT NULL,
    guarantees VARCHAR[] NOT NULL,
    ran_at TIMESTAMP NOT NULL
);
COMMENT ON TABLE runs IS 'Every execution of a case: what came of it and what shows it. Append-only.';
COMMENT ON COLUMN runs.case_hash IS 'The case.';
COMMENT ON COLUMN runs.build IS 'The build (builds.build).';
COMMENT ON COLUMN runs.environment IS 'Where (environments.environment).';
COMMENT ON COLUMN runs.profile IS 'hostile or reviewed.';
COMMENT ON COLUMN runs.batch IS '0 for the first series of attempts; a fresh series (--force, confirmation) has the next number.';
COMMENT ON COLUMN runs.attempt IS 'Number of the run in its series, from 0.';
COMMENT ON COLUMN runs.planted IS 'Whether the case ran with an injected fault.';
COMMENT ON COLUMN runs.outcome IS 'reproduced, not_reproduced, different_failure, cannot_run, timeout, out_of_memory or sandbox_error.';
COMMENT ON COLUMN runs.detail IS 'One line: what was seen.';
COMMENT ON COLUMN runs.signature IS 'The failure that was seen, if any.';
COMMENT ON COLUMN runs.exit_code IS 'Exit code; NULL where a signal ended the run.';
COMMENT ON COLUMN runs.signal IS 'Signal that ended it.';
COMMENT ON COLUMN runs.ended IS 'How it ended, by the kernel and the sandbox (sandbox/runner.py).';
COMMENT ON COLUMN runs.stdout IS 'End of its output.';
COMMENT ON COLUMN runs.stderr IS 'End of its error output.';
COMMENT ON COLUMN runs.duration IS 'Seconds.';
COMMENT ON COLUMN runs.cpu IS 'Seconds of processor time.';
COMMENT ON COLUMN runs.peak_memory IS 'Bytes.';
COMMENT ON COLUMN runs.zygote IS 'The preloaded process it was forked from; empty for a fresh one.';
COMMENT ON COLUMN runs.seed IS 'Seed it was given.';
COMMENT ON COLUMN runs.guarantees IS 'Guarantees of the sandbox that held.';
COMMENT ON COLUMN runs.ran_at IS 'When (UTC).';

CREATE TABLE verdicts (
    case_hash VARCHAR NOT NULL,
    build VARCHAR NOT NULL,
    environment VARCHAR NOT NULL,
    profile VARCHAR NOT NULL,
    batch INTEGER NOT NULL,
    verdict VARCHAR NOT NULL,
    flaky BOOLEAN NOT NULL,
    k INTEGER NOT NULL,
    n INTEGER NOT NULL,
    detectable_rate DOUBLE,
    control VARCHAR NOT NULL,
    control_build VARCHAR,
    control_k INTEGER NOT NULL,
    control_n INTEGER NOT NULL,
    detail VARCHAR NOT NULL,
    signature VARCHAR,
    decided_at TIMESTAMP NOT NULL
);
COMMENT ON TABLE verdicts IS 'What the runs of a case on a build mean; the newest row of case, build and environment counts. Append-only.';
COMMENT ON COLUMN verdicts.case_hash IS 'The case.';
COMMENT ON COLUMN verdicts.build IS 'The build (builds.build).';
COMMENT ON COLUMN verdicts.environment IS 'Where (environments.environment).';
COMMENT ON COLUMN verdicts.profile IS 'hostile or reviewed.';
COMMENT ON COLUMN verdicts.batch IS 'Series of runs that it rests on.';
COMMENT ON COLUMN verdicts.verdict IS 'occurs, absent, not_seen, changed, control_failed, untestable or inconclusive.';
COMMENT ON COLUMN verdicts.flaky IS '0 < k < n.';
COMMENT ON COLUMN verdicts.k IS 'Runs that showed the declared failure.';
COMMENT ON COLUMN verdicts.n IS 'Runs that could have shown it.';
COMMENT ON COLUMN verdicts.detectable_rate IS 'Hit rate that n clean runs would have shown with 99 %.';
COMMENT ON COLUMN verdicts.control IS 'build, planted or none.';
COMMENT ON COLUMN verdicts.control_build IS 'Build of a build control.';
COMMENT ON COLUMN verdicts.control_k IS 'Runs of the control that reproduced.';
COMMENT ON COLUMN verdicts.control_n IS 'Runs of the control.';
COMMENT ON COLUMN verdicts.detail IS 'One line: what was seen.';
COMMENT ON COLUMN verdicts.signature IS 'The failure that was seen, if any.';
COMMENT ON COLUMN verdicts.decided_at IS 'When (UTC).';

CREATE TABLE status_history (
    repo VARCHAR NOT NULL,
    number INTEGER NOT NULL,
    backend VARCHAR NOT NULL,
    reference VARCHAR NOT NULL,
    status VARCHAR NOT NULL,
    previous VARCHAR,
    evidence VARCHAR NOT NULL,
    decided_at TIMESTAMP NOT NULL
);
COMMENT ON TABLE status_history IS 'Every change of an item''s status. Append-only.';
COMMENT ON COLUMN status_history.repo IS 'Repository as owner/name.';
COMMENT ON COLUMN status_history.number IS 'Number of the issue or pull request in its repository.';
COMMENT ON COLUMN status_history.backend IS 'cpu, cuda or mps.';
COMMENT ON COLUMN status_history.reference IS 'Build that the status speaks of (builds.build).';
COMMENT ON COLUMN status_history.status IS 'open_and_occurs, open_but_absent, closed_but_occurs, declined_occurs, fixed, regressed, undecided, never_reproduced or untestable_here.';
COMMENT ON COLUMN status_history.previous IS 'The status before.';
COMMENT ON COLUMN status_history.evidence IS 'Cases with verdict, k/n, control and detectable rate.';
COMMENT ON COLUMN status_history.decided_at IS 'When (UTC).';

CREATE TABLE announcements (
    repo VARCHAR NOT NULL,
    number INTEGER NOT NULL,
    backend VARCHAR NOT NULL,
    reference VARCHAR NOT NULL,
    kind VARCHAR NOT NULL,
    text VARCHAR NOT NULL,
    announced_at TIMESTAMP NOT NULL
);
COMMENT ON TABLE announcements IS 'Changes that a re-check has announced; each is announced once.';
COMMENT ON COLUMN announcements.repo IS 'Repository as owner/name.';
COMMENT ON COLUMN announcements.number IS 'Number of the issue or pull request in its repository.';
COMMENT ON COLUMN announcements.backend IS 'cpu, cuda or mps.';
COMMENT ON COLUMN announcements.reference IS 'Build that it speaks of.';
COMMENT ON COLUMN announcements.kind IS 'regressed, fixed, closed_but_occurs or open_but_absent.';
COMMENT ON COLUMN announcements.text IS 'The announced text.';
COMMENT ON COLUMN announcements.announced_at IS 'When (UTC).';

CREATE VIEW latest_verdicts AS
FROM verdicts
QUALIFY row_number() OVER (PARTITION BY case_hash, build, environment ORDER BY decided_at DESC, batch DESC) = 1;
COMMENT ON VIEW latest_verdicts IS 'The verdict that counts for each case, build and environment.';

CREATE VIEW statuses AS
SELECT * EXCLUDE (previous)
FROM status_history
QUALIFY row_number() OVER (PARTITION BY repo, number, backend ORDER BY decided_at DESC) = 1;
COMMENT ON VIEW statuses IS 'The status that counts for each item and backend.';
