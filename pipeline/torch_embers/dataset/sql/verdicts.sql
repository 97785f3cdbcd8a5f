-- Which verdict does each case have on each build? Sorted by case, then in order of release.
SELECT
    v.name AS "case", v.build, split_part(b.version, '+', 1) AS release, v.environment, v.device,
    v.verdict, v.flaky, v.k, v.n, v.detectable_rate, v.control, v.control_build, v.control_k, v.control_n,
    v.profile, v.seen AS signature, v.shown AS detail, v.decided_at, v.provenance
FROM chosen_verdicts v
JOIN chosen_builds b USING (build)
JOIN releases r USING (build)
ORDER BY v.name, r.position, v.environment
