-- The release of a kernel is a fact of a run and no part of an environment: an update of the kernel voids no verdict.
ALTER TABLE runs ADD COLUMN kernel VARCHAR;
ALTER TABLE oracle_runs ADD COLUMN kernel VARCHAR;
COMMENT ON COLUMN runs.kernel IS 'Release of the kernel on which it ran; NULL where nobody noted it.';
COMMENT ON COLUMN oracle_runs.kernel IS 'Release of the kernel on which it ran; NULL where nothing ran, or nobody noted it.';
COMMENT ON COLUMN environments.system IS 'Operating system; the release of the kernel is a fact of a run.';

.read environment_keys.sql
