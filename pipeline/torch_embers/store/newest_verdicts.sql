-- What is the verdict of every current case on the newest release: own ones before those that came with embers; of several
-- environments the first of the list, as in run/item_verdict.py.
SELECT c.case_hash, c.name, c.origin, split_part(b.version, '+', 1) AS release, v.verdict, v.k, v.n
FROM latest_verdicts v
JOIN cases c ON c.case_hash = v.case_hash AND c.current
JOIN builds b ON b.build = v.build
QUALIFY row_number() OVER (
    PARTITION BY c.case_hash
    ORDER BY [coalesce(try_cast(part AS INTEGER), 0) FOR part IN string_split(release, '.')] DESC, v.provenance <> 'own',
             list_position(['occurs', 'changed', 'inconclusive', 'control_failed', 'not_seen', 'absent', 'untestable'], v.verdict), v.decided_at DESC
) = 1
