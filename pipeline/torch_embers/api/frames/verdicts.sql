-- What did each case show on each build and in each environment? The newest verdict, own or shipped.
SELECT c.name AS "case", split_part(b.version, '+', 1) AS version, v.build, e.device, e.device_name, e.processor, e.capability,
       e.system, v.verdict, v.flaky, v.k, v.n, v.detectable_rate, v.control, v.control_build, v.control_k, v.control_n, v.detail,
       v.profile, v.provenance, v.decided_at
FROM latest_verdicts v
JOIN cases c ON c.case_hash = v.case_hash AND c.current
JOIN builds b USING (build)
JOIN environments e USING (environment)
ORDER BY c.name, v.build, v.environment
