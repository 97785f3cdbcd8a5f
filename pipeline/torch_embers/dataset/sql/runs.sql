-- Which runs do the verdicts of this database rest on? Shipped verdicts came without their runs.
SELECT
    c.name AS "case", r.build, r.environment, r.profile, r.batch, r.injected, r.attempt,
    r.outcome, file_names(r.signature) AS signature, file_names(r.detail) AS detail, r.exit_code, r.signal, r.ended,
    r.duration, r.cpu, r.peak_memory,
    dense_rank() OVER (PARTITION BY c.name, r.build, r.environment, r.profile, r.batch ORDER BY r.zygote) AS start,
    r.seed, list_sort(r.guarantees) AS guarantees, r.memory_counted_by,
    nullif(regexp_extract(r.kernel, '^\d+(\.\d+)?'), '') AS kernel, r.ran_at
FROM runs r
JOIN chosen_cases c ON c.case_hash = r.case_hash
JOIN chosen_builds b ON b.build = r.build
JOIN releases p ON p.build = r.build
QUALIFY row_number() OVER (
    PARTITION BY c.name, r.build, r.environment, r.profile, r.batch, r.injected, r.attempt ORDER BY r.ran_at DESC
) = 1
ORDER BY c.name, p.position, r.environment, r.profile, r.batch, injected, r.attempt
