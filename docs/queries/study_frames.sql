-- How much of the tracker each database of the study holds.
SELECT name AS database, as_of::DATE::VARCHAR AS "as of", items, frame.known AS "numbers known", frame.numbers AS "numbers of the tracker",
  printf('%.1f%%', 100.0 * frame.known / frame.numbers) AS share
FROM (SELECT 'the catalog' AS name, as_of, items, frame FROM 'analysis/results/study.json'
      UNION ALL SELECT 'with datasets', as_of, items, frame FROM 'analysis/results/datasets/study.json')
ORDER BY database
