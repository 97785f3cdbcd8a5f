-- How did the newest runs of each case on each build end, and what did they print last?
SELECT c.name, split_part(b.version, '+', 1) AS build, r.outcome, r.detail, r.ended, r.duration, r.ran_at, r.planted,
       r.stdout, r.stderr, r.attempt
FROM runs r
JOIN cases c ON c.case_hash = r.case_hash AND c.current
JOIN builds b ON b.build = r.build
WHERE NOT r.planted
QUALIFY row_number() OVER (PARTITION BY r.case_hash, r.build ORDER BY r.ran_at DESC, r.batch DESC, r.attempt DESC) = 1
ORDER BY c.name, r.ran_at DESC, build
