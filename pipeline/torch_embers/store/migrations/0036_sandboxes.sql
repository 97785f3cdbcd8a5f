-- What the sandbox was in a run: whether a first one broke, and what counted its memory. NULL in runs of before, which did not say.

ALTER TABLE runs ADD COLUMN repeated VARCHAR;
ALTER TABLE runs ADD COLUMN memory_counted_by VARCHAR;
COMMENT ON COLUMN runs.repeated IS 'Why the sandbox of a first try broke, where this is the second one, in a fresh process; empty elsewhere, NULL in runs before schema version 36.';
COMMENT ON COLUMN runs.memory_counted_by IS 'What bounded the memory of all its processes: cgroup (the kernel, and the supervisor) or supervisor; empty without a sandbox, NULL in runs before schema version 36.';
