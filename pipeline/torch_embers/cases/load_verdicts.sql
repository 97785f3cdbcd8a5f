-- The shipped verdicts as rows of the table verdicts. All their cases were written by hand. No absence is claimed where the fault was injected,
-- so these lines have no rate. `place` is the key of the environment.
CREATE OR REPLACE TEMP TABLE shipped_now AS
SELECT case_hash, build, place AS environment, 'reviewed' AS profile, 0 AS batch, verdict, k::INTEGER BETWEEN 1 AND n::INTEGER - 1 AS flaky,
       k::INTEGER AS k, n::INTEGER AS n,
       CASE WHEN verdict IN ('absent', 'not_seen', 'control_failed') AND control <> 'injected'
            THEN CASE WHEN n::INTEGER = 0 THEN 1 ELSE 1 - $miss::DOUBLE ** (1 / n::INTEGER) END END::DOUBLE AS detectable_rate,
       control, nullif(control_build, '') AS control_build, control_k::INTEGER AS control_k, control_n::INTEGER AS control_n, seen AS detail,
       NULL::VARCHAR AS signature, day::TIMESTAMP AS decided_at, 'shipped' AS provenance, NULL::BIGINT AS written
FROM (
    SELECT unnest(from_json($lines, '[{"case_hash": "VARCHAR", "build": "VARCHAR", "place": "VARCHAR", "verdict": "VARCHAR", "k": "VARCHAR",
        "n": "VARCHAR", "control": "VARCHAR", "control_build": "VARCHAR", "control_k": "VARCHAR", "control_n": "VARCHAR", "seen": "VARCHAR",
        "day": "VARCHAR"}]'), recursive := true))
