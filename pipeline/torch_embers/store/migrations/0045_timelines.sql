-- Every issue has one row in scripts: the script of its report, or the reason why there is none. What a script did on a
-- build is an observation; neighbouring builds with equal behaviour are a segment of its timeline.

CREATE TABLE scripts (
    repo VARCHAR NOT NULL,
    number INTEGER NOT NULL,
    script VARCHAR,
    code VARCHAR,
    environment VARCHAR,
    device VARCHAR,
    found_in VARCHAR,
    changes VARCHAR,
    reason VARCHAR,
    detail VARCHAR,
    content_hash VARCHAR NOT NULL,
    rules VARCHAR NOT NULL,
    made_at TIMESTAMP NOT NULL
);
COMMENT ON TABLE scripts IS 'The script of each report, or why there is none: one row per issue.';
COMMENT ON COLUMN scripts.repo IS 'Repository as owner/name.';
COMMENT ON COLUMN scripts.number IS 'Number of the issue.';
COMMENT ON COLUMN scripts.script IS 'Hash of code and variables; NULL where there is no script.';
COMMENT ON COLUMN scripts.code IS 'The program that is run.';
COMMENT ON COLUMN scripts.environment IS 'JSON object: variables that the report sets for the command.';
COMMENT ON COLUMN scripts.device IS 'Accelerator that the report is about (cuda, mps, xpu ...) where the script runs on the CPU instead; else NULL.';
COMMENT ON COLUMN scripts.found_in IS 'body, or comment n (from 1).';
COMMENT ON COLUMN scripts.changes IS 'JSON list of {line, before, after, reason}: what differs from the text of the report.';
COMMENT ON COLUMN scripts.reason IS 'Why there is no script, in one word of data/extract.toml; NULL where there is one.';
COMMENT ON COLUMN scripts.detail IS 'The same in one sentence.';
COMMENT ON COLUMN scripts.content_hash IS 'Hash of the texts that were read.';
COMMENT ON COLUMN scripts.rules IS 'Version of the rules that read them.';
COMMENT ON COLUMN scripts.made_at IS 'When (UTC).';

CREATE TABLE observations (
    script VARCHAR NOT NULL,
    build VARCHAR NOT NULL,
    version VARCHAR NOT NULL,
    environment VARCHAR NOT NULL,
    seed INTEGER NOT NULL,
    batch INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    ending VARCHAR NOT NULL,
    what VARCHAR NOT NULL,
    message VARCHAR NOT NULL,
    frame VARCHAR NOT NULL,
    printed VARCHAR NOT NULL,
    threads INTEGER NOT NULL,
    zygote VARCHAR NOT NULL,
    duration DOUBLE NOT NULL,
    guarantees VARCHAR[] NOT NULL,
    kernel VARCHAR,
    ran_at TIMESTAMP NOT NULL
);
COMMENT ON TABLE observations IS 'How each run of a script ended, and what it printed; only added to.';
COMMENT ON COLUMN observations.script IS 'Hash of the script (scripts.script).';
COMMENT ON COLUMN observations.build IS 'Identity of the build (builds.identity).';
COMMENT ON COLUMN observations.version IS 'Its release.';
COMMENT ON COLUMN observations.environment IS 'Key of the environment (environments).';
COMMENT ON COLUMN observations.seed IS 'Seed that the script and its zygote were given.';
COMMENT ON COLUMN observations.batch IS '1 for the first runs, 2 for the second batch that confirms an absence.';
COMMENT ON COLUMN observations.attempt IS 'Place among the runs of this script, build, environment, seed and batch, from 0.';
COMMENT ON COLUMN observations.ending IS 'ok, exit, exception, signal, timeout, out_of_memory, lacks_api or cannot_run.';
COMMENT ON COLUMN observations.what IS 'Exit code, class of the exception, name of the signal, names that are missing, or why it cannot run; empty for ok.';
COMMENT ON COLUMN observations.message IS 'Message of the exception.';
COMMENT ON COLUMN observations.frame IS 'Last frame of the traceback inside torch, as torch/functional.py:einsum; empty where there is none.';
COMMENT ON COLUMN observations.printed IS 'The end of the standard output, bounded.';
COMMENT ON COLUMN observations.threads IS 'Threads that the script was given.';
COMMENT ON COLUMN observations.zygote IS 'Identity of the process that it was forked from; empty for a fresh process.';
COMMENT ON COLUMN observations.duration IS 'Seconds.';
COMMENT ON COLUMN observations.guarantees IS 'Guarantees of the sandbox that held.';
COMMENT ON COLUMN observations.kernel IS 'Release of the kernel.';
COMMENT ON COLUMN observations.ran_at IS 'When (UTC).';

CREATE TABLE timelines (
    repo VARCHAR NOT NULL,
    number INTEGER NOT NULL,
    script VARCHAR NOT NULL,
    environment VARCHAR NOT NULL,
    device VARCHAR,
    place INTEGER NOT NULL,
    versions VARCHAR[] NOT NULL,
    ending VARCHAR NOT NULL,
    what VARCHAR NOT NULL,
    shown VARCHAR NOT NULL,
    runs INTEGER NOT NULL,
    confirmed BOOLEAN NOT NULL,
    match VARCHAR,
    evidence VARCHAR NOT NULL,
    flip VARCHAR,
    at_fix BOOLEAN,
    provenance VARCHAR NOT NULL,
    decided_at TIMESTAMP NOT NULL
);
COMMENT ON TABLE timelines IS 'The segments of the timeline of each report: neighbouring builds on which its script behaves equally; gaps (lacks_api, cannot_run) are rows, too.';
COMMENT ON COLUMN timelines.repo IS 'Repository as owner/name.';
COMMENT ON COLUMN timelines.number IS 'Number of the issue.';
COMMENT ON COLUMN timelines.script IS 'Hash of the script.';
COMMENT ON COLUMN timelines.environment IS 'Key of the environment (environments); that of the machine which made the shipped facts for these.';
COMMENT ON COLUMN timelines.device IS 'As in scripts, of the script that ran.';
COMMENT ON COLUMN timelines.place IS 'Place of the segment, from 0 for the oldest builds.';
COMMENT ON COLUMN timelines.versions IS 'Releases of the segment, the oldest first.';
COMMENT ON COLUMN timelines.ending IS 'As in observations; mixed where runs on one build end differently.';
COMMENT ON COLUMN timelines.what IS 'As in observations; for mixed: k of n of each ending.';
COMMENT ON COLUMN timelines.shown IS 'Message or printed text of the segment, bounded; empty for shipped facts.';
COMMENT ON COLUMN timelines.runs IS 'Runs on the newest build of the segment.';
COMMENT ON COLUMN timelines.confirmed IS 'Whether these runs, with a second batch, are enough to say that what the segment before showed is gone.';
COMMENT ON COLUMN timelines.match IS 'as_reported, as_expected or other; NULL where the report is about another device.';
COMMENT ON COLUMN timelines.evidence IS 'What of the observation stands where in the report; empty for other.';
COMMENT ON COLUMN timelines.flip IS 'Kind of the border to the segment before: ending, class, value or wording; NULL for the first.';
COMMENT ON COLUMN timelines.at_fix IS 'Whether the border is at the release that has the known fix; NULL where no fix is known or it is none of the borders.';
COMMENT ON COLUMN timelines.provenance IS 'own or shipped.';
COMMENT ON COLUMN timelines.decided_at IS 'When (UTC).';

COMMENT ON COLUMN announcements.kind IS 'regressed, fixed, closed_but_occurs, open_but_absent, flapping, or flip: the script of the report behaves otherwise.';
COMMENT ON TABLE reductions IS 'Minimisations of the scripts of reports: what came of each.';
COMMENT ON COLUMN reductions.name IS 'The report, as owner/name#number.';
COMMENT ON COLUMN reductions.build IS 'The newest build on which its behaviour was to be kept (builds.build).';
COMMENT ON COLUMN reductions.script IS 'Hash of the script (scripts.script): a changed one is tried again.';
COMMENT ON COLUMN reductions.detail IS 'What the script does, or why it cannot be minimised here.';
COMMENT ON COLUMN reductions.characters IS 'Characters of the script.';
