-- Entries of the newest release that cite an issue, by state; the state of an issue is known where the catalog has it.
SELECT state, count(*) AS entries, count(*) FILTER (has_closed) AS "with a closed issue",
  count(*) FILTER (NOT has_closed AND list_aggregate(cites, 'string_agg', ',') LIKE '%unknown%') AS "state unknown"
FROM skips_newest WHERE cites IS NOT NULL GROUP BY state ORDER BY entries DESC
