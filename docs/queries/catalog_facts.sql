-- How many entries of the catalog there are, and for how many each fact is known.
WITH entry AS (FROM read_json('data/catalog.jsonl', format = 'newline_delimited'))
SELECT what, entries FROM (
  SELECT 0 AS place, 'all' AS what, count(*) AS entries FROM entry
  UNION ALL SELECT 1, state || ' ' || kind || 's', count(*) FROM entry GROUP BY ALL
  UNION ALL SELECT 2, 'with labels of the tracker', count(*) FROM entry WHERE len(labels) > 0
  UNION ALL SELECT 2, 'with pull requests that fix it', count(*) FROM entry WHERE len(fix_prs) > 0
  UNION ALL SELECT 2, 'with files of the fix', count(*) FROM entry WHERE len(fix_files) > 0
  UNION ALL SELECT 2, 'with related items', count(*) FROM entry WHERE len(related) > 0
  UNION ALL SELECT 2, 'with affected versions', count(*) FROM entry WHERE len(affected_versions) > 0
  UNION ALL SELECT 2, 'with backends', count(*) FROM entry WHERE len(backends) > 0
  UNION ALL SELECT 2, 'with the day it was opened', count(created_at) FROM entry
  UNION ALL SELECT 2, 'with the day it was closed', count(closed_at) FROM entry
) ORDER BY place, entries DESC, what
