-- What of the database may be published at all? The queries of the tables read these views.

-- Items that the tracker no longer shows: nothing about them is published.
CREATE OR REPLACE TEMP VIEW gone AS
SELECT repo, number FROM items WHERE deleted_at IS NOT NULL;

-- Untrusted scripts are text of their authors; earlier texts of a case were replaced for a reason. Of another repository
-- than PyTorch's (table about, from Python) nothing is published that shows no item of it.
CREATE OR REPLACE TEMP VIEW chosen_cases AS
FROM cases WHERE current AND origin = 'curated'
AND ((SELECT repo FROM about) = 'pytorch/pytorch' OR case_hash IN (SELECT case_hash FROM case_items SEMI JOIN about USING (repo)));

-- Messages can hold paths of one machine, with the name of a user; of an absolute path the last part stays.
CREATE OR REPLACE TEMP MACRO file_names(message) AS
    regexp_replace(message, '(^|[\s"''(=:])(?:/[^/\s"'':,()]+)+/([^/\s"'':,()]+)', '\1\2', 'g');

-- Of the verdicts of a case the newest counts.
CREATE OR REPLACE TEMP VIEW chosen_verdicts AS
SELECT v.*, c.name, e.device, file_names(v.detail) AS shown, file_names(v.signature) AS seen
FROM verdicts v
JOIN chosen_cases c ON c.case_hash = v.case_hash
JOIN environments e ON e.environment = v.environment
QUALIFY row_number() OVER (PARTITION BY c.name, v.build, v.environment ORDER BY v.decided_at DESC, v.batch DESC) = 1;

CREATE OR REPLACE TEMP VIEW chosen_builds AS
FROM builds
WHERE build IN (SELECT build FROM chosen_verdicts)
   OR build IN (SELECT control_build FROM chosen_verdicts WHERE control_build IS NOT NULL)
   OR build IN (SELECT reference FROM statuses ANTI JOIN gone USING (repo, number)
                WHERE (SELECT repo FROM about) IN (repo, 'pytorch/pytorch'));

-- The newest verdicts of all other scripts, by what these are.
CREATE OR REPLACE TEMP VIEW unpublished AS
SELECT coalesce(c.origin, 'unknown') AS origin
FROM latest_verdicts v LEFT JOIN cases c USING (case_hash)
WHERE NOT coalesce(c.current AND c.origin = 'curated', false);
