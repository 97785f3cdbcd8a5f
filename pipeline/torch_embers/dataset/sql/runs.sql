-- Which runs do the verdicts of this database rest on? Shipped verdicts came without their runs.
SELECT
    c.name AS "case", r.build, e.environment, r.profile, r.batch, r.planted AS injected, r.attempt,
    r.outcome, file_names(r.signature) AS signature, file_names(r.detail) AS detail, r.exit_code, r.signal, r.ended,
    r.duration, r.cpu, r.peak_memory,
    dense_rank() OVER (PARTITION BY c.name, r.build, e.environment, r.profile, r.batch ORDER BY r.zygote) AS start,
    r.seed, list_sort(r.guarantees) AS guarantees, r.memory_counted_by, r.ran_at
FROM runs r
JOIN chosen_cases c ON c.case_hash = r.case_hash
JOIN chosen_environments e ON e.own = r.environment
JOIN chosen_builds b ON b.build = r.build
JOIN releases p ON p.build = r.build
QUALIFY row_number() OVER (
    PARTITION BY c.name, r.build, e.environment, r.profile, r.batch, r.planted, r.attempt ORDER BY r.ran_at DESC, e.own
) = 1
ORDER BY c.name, p.position, e.environment, r.profile, r.batch, injected, r.attempt
