-- Environments as they are keyed today: without the release of the kernel, which their system once held ("Linux 6.18.44").
-- Changes nothing where they are so already. The key is the one that builds/registry.py makes.

CREATE OR REPLACE TEMP TABLE renewed AS
SELECT
    environment AS old,
    split_part(system, ' ', 1) AS name,
    nullif(ltrim(substr(system, length(name) + 1)), '') AS kernel,
    left(sha256(concat_ws(chr(10),
        'capability=' || coalesce(capability, ''), 'device=' || device, 'device_name=' || coalesce(device_name, ''),
        'driver=' || coalesce(driver, ''), 'processor=' || processor, 'system=' || name, 'threads=' || threads
    )), 16) AS environment,
    seen_at
FROM environments;

-- Two environments that become one have batches of the same number. The newest of each number keeps it; earlier ones get a number below
-- all others, because the highest number is the batch that goes on or confirms.
CREATE OR REPLACE TEMP TABLE renumbered AS
WITH moments AS (
    SELECT case_hash, build, environment AS old, batch, ran_at AS moment FROM runs
    UNION ALL
    SELECT case_hash, build, environment, batch, decided_at FROM verdicts WHERE provenance = 'own'
),
series AS (
    SELECT m.case_hash, m.build, r.environment, m.old, m.batch, max(m.moment) AS newest
    FROM moments m JOIN renewed r USING (old)
    GROUP BY ALL
),
earlier AS (
    FROM series
    QUALIFY row_number() OVER (PARTITION BY case_hash, build, environment, batch ORDER BY newest DESC, old) > 1
)
SELECT
    case_hash, build, old, batch,
    (SELECT least(0, min(batch)) FROM moments)
        - row_number() OVER (PARTITION BY case_hash, build, environment ORDER BY newest DESC, old) AS number
FROM earlier;

UPDATE runs SET batch = n.number FROM renumbered n
WHERE n.case_hash = runs.case_hash AND n.build = runs.build AND n.old = runs.environment AND n.batch = runs.batch;
UPDATE verdicts SET batch = n.number FROM renumbered n
WHERE n.case_hash = verdicts.case_hash AND n.build = verdicts.build AND n.old = verdicts.environment
    AND n.batch = verdicts.batch AND verdicts.provenance = 'own';

UPDATE runs SET environment = r.environment, kernel = coalesce(runs.kernel, r.kernel) FROM renewed r WHERE r.old = runs.environment;
UPDATE oracle_runs SET environment = r.environment, kernel = coalesce(oracle_runs.kernel, r.kernel) FROM renewed r
WHERE r.old = oracle_runs.environment;
UPDATE verdicts SET environment = r.environment FROM renewed r WHERE r.old = verdicts.environment;

DELETE FROM environments WHERE environment IN (
    SELECT old FROM renewed QUALIFY row_number() OVER (PARTITION BY environment ORDER BY seen_at DESC, old) > 1
);
UPDATE environments SET environment = r.environment, system = r.name FROM renewed r WHERE r.old = environments.environment;
DROP TABLE renewed;
DROP TABLE renumbered;
