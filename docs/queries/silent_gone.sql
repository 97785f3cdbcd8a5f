-- Which open issues of the census no longer occur on the newest release, and how a case could be clean while the report still fails?
WITH doubt AS (
  SELECT item, string_agg(DISTINCT facts->>'other_cause', ' ') AS doubt FROM read_json('data/judgements.jsonl', columns = {
    'item': 'INT', 'question': 'VARCHAR', 'facts': 'JSON'}) WHERE question = 'faithful' GROUP BY item
)
SELECT '#' || number AS issue, area, "by" AS "shown by", closable, doubt
FROM read_csv('analysis/results/census_2026.csv', types = {'number': 'INT', 'first_bad': 'VARCHAR'}) LEFT JOIN doubt ON item = number
WHERE newest = 'absent' AND state = 'open'
ORDER BY number DESC
