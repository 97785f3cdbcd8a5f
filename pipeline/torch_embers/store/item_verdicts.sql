-- What do an item's cases say together on the newest release? One that occurs decides; absent needs all testable cases.
SELECT i.repo, i.number, arg_min(n.verdict, place) AS verdict, arg_min(n.release, place) AS release
FROM ({newest_verdicts}) n
JOIN case_items i USING (case_hash),
LATERAL (SELECT list_position(
    ['occurs', 'changed', 'inconclusive', 'control_failed', 'not_seen', 'absent', 'untestable'], n.verdict) AS place)
GROUP BY ALL
