-- What do an item's cases say of it together on the newest release? Cases that are the report's own and can be tested come first;
-- one that occurs decides, absent needs all testable ones. The same in Python: verdicts/item_verdict.py.
WITH told AS (
    SELECT i.repo, i.number, n.verdict, n.release,
           CASE WHEN i.relation = 'same' AND n.origin IN ('curated', 'fix_test') THEN 'report'
                WHEN i.relation = 'sibling' THEN 'another_input' ELSE 'not_compared' END AS speaks_of,
           [(speaks_of <> 'report' OR n.verdict = 'untestable')::INTEGER, list_position(
               ['occurs', 'changed', 'inconclusive', 'control_failed', 'not_seen', 'absent', 'untestable'], n.verdict)] AS place
    FROM ({newest_verdicts}) n JOIN case_items i USING (case_hash)
)
SELECT repo, number, arg_min(verdict, place) AS verdict, arg_min(release, place) AS release,
       arg_min(speaks_of, place) AS verdict_speaks_of,
       min(place[1]) = 0 AND arg_min(verdict, place) <> 'occurs' AND bool_or(verdict = 'occurs') AS another_occurs
FROM told GROUP BY ALL
