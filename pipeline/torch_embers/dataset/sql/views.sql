-- What of the database may be published at all? The queries of the tables read these views.

-- Items that the tracker no longer shows: nothing about them is published.
CREATE OR REPLACE TEMP VIEW gone AS
SELECT repo, number FROM items WHERE deleted_at IS NOT NULL;

-- Untrusted scripts are text of their authors; earlier texts of a case were replaced for a reason.
CREATE OR REPLACE TEMP VIEW chosen_cases AS
FROM cases WHERE current AND origin = 'curated';

-- Messages can hold paths of one machine, with the name of a user; of an absolute path the last part stays.
CREATE OR REPLACE TEMP MACRO file_names(message) AS
    regexp_replace(message, '(^|[\s"''(=:])(?:/[^/\s"'':,()]+)+/([^/\s"'':,()]+)', '\1\2', 'g');

-- Of a kernel's version only the part that means the same everywhere: the rest is one machine's.
CREATE OR REPLACE TEMP VIEW kinds_of_machine AS
SELECT
    environment AS own,
    device, device_name, driver, processor, capability, threads,
    regexp_extract(system, '^\S+( \d+(\.\d+)?)?') AS system
FROM environments;

CREATE OR REPLACE TEMP VIEW chosen_environments AS
SELECT
    *,
    left(md5(to_json([device, device_name, driver, system, processor, capability, threads::VARCHAR])::VARCHAR), 12)
        AS environment
FROM kinds_of_machine;

-- Two machines of a kind are one environment here; of their verdicts the newest counts.
CREATE OR REPLACE TEMP VIEW chosen_verdicts AS
SELECT
    v.* EXCLUDE (environment), c.name, e.environment, e.device,
    file_names(v.detail) AS shown, file_names(v.signature) AS seen
FROM verdicts v
JOIN chosen_cases c ON c.case_hash = v.case_hash
JOIN chosen_environments e ON e.own = v.environment
QUALIFY row_number() OVER (
    PARTITION BY c.name, v.build, e.environment ORDER BY v.decided_at DESC, v.batch DESC, e.own
) = 1;

CREATE OR REPLACE TEMP VIEW chosen_builds AS
FROM builds
WHERE build IN (SELECT build FROM chosen_verdicts)
   OR build IN (SELECT control_build FROM chosen_verdicts WHERE control_build IS NOT NULL)
   OR build IN (SELECT reference FROM statuses ANTI JOIN gone USING (repo, number));
