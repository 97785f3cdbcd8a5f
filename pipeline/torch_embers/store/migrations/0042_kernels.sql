-- The release of a kernel is a fact of a run and no part of an environment: an update of the kernel voids no verdict.
ALTER TABLE runs ADD COLUMN kernel VARCHAR;
ALTER TABLE oracle_runs ADD COLUMN kernel VARCHAR;
COMMENT ON COLUMN runs.kernel IS 'Release of the kernel on which it ran; NULL where nobody noted it.';
COMMENT ON COLUMN oracle_runs.kernel IS 'Release of the kernel on which it ran; NULL where nothing ran, or nobody noted it.';
COMMENT ON COLUMN runs.batch IS '0 for the first series of attempts; a fresh series (--force, confirmation) has the next number; below 0: earlier series of an environment that was once keyed by its kernel, too.';
COMMENT ON COLUMN environments.system IS 'Operating system; the release of the kernel is a fact of a run.';

.read environment_keys.sql
