-- What is known of each item, in one row: for `embers list`. {classes}, {dispositions}: whether these are asked for, true or false.
WITH shown AS (
    SELECT i.repo, i.number, list_sort(list(DISTINCT c.name)) AS cases, list(DISTINCT c.origin) AS origins,
           list(DISTINCT lower(need)) FILTER (need IN ('cpu', 'cuda', 'mps')) AS devices,
           string_agg(c.code, chr(10)) AS code
    FROM cases c JOIN case_items i USING (case_hash), unnest(c.requires) AS r(need)
    WHERE c.current GROUP BY ALL
), seen AS ( -- their own bug was seen to fail a test of the fix before the fix
    SELECT t.repo, n.number::BIGINT AS number, ['fix_test'] AS origins
    FROM fix_tests t JOIN fix_test_classes k USING (name), unnest(t.same) AS n(number)
    WHERE k.validated_before IS NOT NULL GROUP BY ALL
), timed AS ( -- what the script of the report does; no gaps, and nothing of a report about an accelerator, whose script ran on the CPU
    SELECT repo, number, list({versions: versions, ending: ending, what: what, runs: runs, confirmed: confirmed, match: match,
                               flip: flip, at_fix: at_fix} ORDER BY place) AS segments
    FROM current_timelines
    WHERE ending NOT IN ('lacks_api', 'cannot_run') AND device IS NULL GROUP BY ALL
), stated AS (
    SELECT repo, number, list_sort(list(DISTINCT status)) AS statuses FROM statuses GROUP BY ALL
)
SELECT i.repo, i.number, coalesce(nullif(i.kind, ''), 'issue') AS kind, i.title, i.state, i.state_reason,
       d.disposition, i.created_at, i.updated_at, i.closed_at, i.comment_count AS comments,
       i.reaction_count AS reactions, coalesce(i.labels, []) AS labels, coalesce(l.classes, []) AS classes, coalesce(l.medium_classes, []) AS medium_classes,
       coalesce(l.high_classes, []) AS high_classes,
       list_sort(list_distinct(coalesce(k.backends, []) || coalesce(s.devices, []))) AS backends,
       coalesce(t.statuses, []) AS statuses, coalesce(s.cases, []) AS cases,
       list_distinct(coalesce(s.origins, []) || coalesce(f.origins, [])) AS origins,
       v.verdict, v.release, v.verdict_speaks_of, v.another_occurs,
       coalesce(m.segments, []) AS segments, 'https://github.com/' || repo || '/issues/' || number AS address, concat_ws(chr(10), i.title, k.summary, s.code) AS words
FROM items i
LEFT JOIN catalog k USING (repo, number)
LEFT JOIN shown s USING (repo, number)
LEFT JOIN seen f USING (repo, number)
LEFT JOIN stated t USING (repo, number)
LEFT JOIN timed m USING (repo, number)
LEFT JOIN (FROM item_classes WHERE {classes}) l USING (repo, number)
LEFT JOIN ({item_verdicts}) v USING (repo, number)
LEFT JOIN (FROM item_dispositions WHERE {dispositions}) d USING (repo, number)
WHERE i.deleted_at IS NULL
