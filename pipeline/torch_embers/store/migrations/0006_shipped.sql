-- Verdicts that come with embers (analysis/results/matrix.csv) stand beside those of this database's own runs.
-- A column that is added cannot be NOT NULL at once, and views keep the columns they were made with.

ALTER TABLE verdicts ADD COLUMN provenance VARCHAR DEFAULT 'own';
ALTER TABLE verdicts ALTER COLUMN provenance SET NOT NULL;
COMMENT ON COLUMN verdicts.provenance IS 'own: reached by runs of this database; shipped: came with embers, without runs here.';
COMMENT ON TABLE verdicts IS 'What the runs of a case on a build mean. Own rows are only ever added; shipped rows are replaced as a whole by those of a newer embers.';

ALTER TABLE status_history ADD COLUMN provenance VARCHAR DEFAULT 'own';
ALTER TABLE status_history ALTER COLUMN provenance SET NOT NULL;
COMMENT ON COLUMN status_history.provenance IS 'own: derived by a re-check from verdicts of this database; shipped: derived at each mine from shipped verdicts alone.';
COMMENT ON TABLE status_history IS 'Every change of an item''s status. Own rows are only ever added; shipped rows are replaced at each mine.';

-- of a shipped build only its release is known
ALTER TABLE builds ALTER COLUMN python DROP NOT NULL;
COMMENT ON COLUMN builds.python IS 'Version of its interpreter; NULL where only the release is known (shipped verdicts).';
COMMENT ON COLUMN builds.build IS 'Identity: version, commit, Python and platform as the build itself says, or the release alone for shipped verdicts; key of runs and verdicts.';

CREATE OR REPLACE VIEW latest_verdicts AS
WITH newest AS (
    FROM verdicts
    QUALIFY row_number() OVER (PARTITION BY case_hash, build, environment ORDER BY decided_at DESC, batch DESC) = 1
)
SELECT n.*
FROM newest n
LEFT JOIN builds b ON b.build = n.build
LEFT JOIN environments e ON e.environment = n.environment
-- builds of shipped verdicts are known by release: an own verdict on that release, in that environment, replaces them
QUALIFY n.provenance = 'own' OR NOT bool_or(n.provenance = 'own') OVER (
    PARTITION BY n.case_hash, split_part(b.version, '+', 1), e.device, e.device_name, e.processor, e.capability, e.system
);
COMMENT ON VIEW latest_verdicts IS 'The verdict that counts for each case, build and environment; a shipped one only where there is no own one of the same release and environment.';

CREATE OR REPLACE VIEW statuses AS
SELECT * EXCLUDE (previous)
FROM status_history
QUALIFY row_number() OVER (PARTITION BY repo, number, backend ORDER BY provenance = 'own' DESC, decided_at DESC) = 1;
COMMENT ON VIEW statuses IS 'The status that counts for each item and backend: the newest own one, else the shipped one.';
