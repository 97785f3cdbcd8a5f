-- The order in which things became known must not rest on a clock that may have been wrong, and an announcement that
-- nobody was told yet must be known as such. Both are NULL in older rows: those are ordered by their times, and were told.
ALTER TABLE verdicts ADD COLUMN written BIGINT;
COMMENT ON COLUMN verdicts.written IS 'Its number in the order of writing, whatever the clock said; NULL for shipped verdicts and those of an older embers.';

ALTER TABLE status_history ADD COLUMN written BIGINT;
COMMENT ON COLUMN status_history.written IS 'Its number in the order of writing, whatever the clock said; NULL for shipped statuses and those of an older embers.';

ALTER TABLE announcements ADD COLUMN written BIGINT;
COMMENT ON COLUMN announcements.written IS 'Its number in the order of writing, whatever the clock said; NULL for those of an older embers.';

ALTER TABLE announcements ADD COLUMN is_told BOOLEAN;
COMMENT ON COLUMN announcements.is_told IS 'false until all that a re-check prints and writes is done: if it ends before, the next one tells it. NULL for those of an older embers: told.';

CREATE OR REPLACE VIEW latest_verdicts AS
WITH newest AS (
    FROM verdicts
    QUALIFY row_number() OVER (
        PARTITION BY case_hash, build, environment ORDER BY written DESC NULLS LAST, decided_at DESC, batch DESC
    ) = 1
)
SELECT n.*
FROM newest n
LEFT JOIN builds b ON b.build = n.build
LEFT JOIN environments e ON e.environment = n.environment
-- builds of shipped verdicts are known by release: an own verdict on that release, in that environment, replaces them
QUALIFY n.provenance = 'own' OR NOT bool_or(n.provenance = 'own') OVER (
    PARTITION BY n.case_hash, split_part(b.version, '+', 1), e.device, e.device_name, e.processor, e.capability, e.system
);
COMMENT ON VIEW latest_verdicts IS 'The verdict that counts for each case, build and environment: the one that was written last; a shipped one only where there is no own one of the same release and environment.';

CREATE OR REPLACE VIEW statuses AS
SELECT * EXCLUDE (previous)
FROM status_history
QUALIFY row_number() OVER (
    PARTITION BY repo, number, backend ORDER BY provenance = 'own' DESC, written DESC NULLS LAST, decided_at DESC
) = 1;
COMMENT ON VIEW statuses IS 'The status that counts for each item and backend: the own one that was written last, else the shipped one.';
