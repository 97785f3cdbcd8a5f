-- What is the verdict of every current case on the newest release: own ones, where one decides, before those that came with
-- embers; of several environments the first of the list, as in verdicts/matrix.py.
WITH told AS (
    SELECT c.case_hash, c.name, c.origin, split_part(b.version, '+', 1) AS release, v.verdict, v.k, v.n, v.decided_at, v.provenance,
           bool_or(v.provenance = 'own' AND v.verdict IN ('occurs', 'absent', 'changed'))
               OVER (PARTITION BY c.case_hash, split_part(b.version, '+', 1)) AS own_decides
    FROM latest_verdicts v
    JOIN cases c ON c.case_hash = v.case_hash AND c.current
    JOIN builds b ON b.build = v.build
)
SELECT case_hash, name, origin, release, verdict, k, n
FROM told
QUALIFY row_number() OVER (
    PARTITION BY case_hash
    ORDER BY [coalesce(try_cast(part AS INTEGER), 0) FOR part IN string_split(release, '.')] DESC, own_decides AND provenance <> 'own',
             list_position(['occurs', 'changed', 'inconclusive', 'control_failed', 'not_seen', 'absent', 'untestable'], verdict), decided_at DESC
) = 1
