-- How did the newest runs of each case on each build end, and what did they print last? A run may print megabytes in one line:
-- $characters are read of each output, from its end.
SELECT c.name, split_part(b.version, '+', 1) AS build, r.outcome, r.detail, r.ended, r.duration, r.ran_at, r.injected,
       right(r.stdout, $characters) AS stdout, right(r.stderr, $characters) AS stderr,
       coalesce(greatest(length(r.stdout), length(r.stderr)), 0) > $characters AS is_cut, r.attempt
FROM runs r
JOIN cases c ON c.case_hash = r.case_hash AND c.current
JOIN builds b ON b.build = r.build
WHERE NOT r.injected
QUALIFY row_number() OVER (PARTITION BY r.case_hash, r.build ORDER BY r.ran_at DESC, r.batch DESC, r.attempt DESC) = 1
ORDER BY c.name, r.ran_at DESC, build
