-- Which verdict does every current case have on every build? One row per case, build and environment, the newest.
SELECT
    c.name,
    coalesce((SELECT string_agg(i.repo || '#' || i.number, ' ' ORDER BY i.repo, i.number) FROM case_items i
              WHERE i.case_hash = c.case_hash), ''),
    split_part(b.version, '+', 1),
    concat_ws(', ', e.device, e.processor, e.capability, e.system),
    v.verdict,
    v.flaky,
    v.k,
    v.n,
    v.detectable_rate,
    v.control,
    split_part(split_part(v.control_build, '@', 1), '+', 1),
    v.control_k,
    v.control_n,
    -- of an absolute path the last part, as file_names of dataset/sql/views.sql
    regexp_replace(v.detail, '(^|[\s"''(=:])(?:/[^/\s"'':,()]+)+/([^/\s"'':,()]+)', '\1\2', 'g'),
    v.decided_at,
    c.case_hash,
    v.provenance,
    [c.bug_type, c.memory_type, c.consequence],
    b.build
FROM latest_verdicts v
JOIN cases c ON c.case_hash = v.case_hash AND c.current
JOIN builds b ON b.build = v.build
JOIN environments e ON e.environment = v.environment
