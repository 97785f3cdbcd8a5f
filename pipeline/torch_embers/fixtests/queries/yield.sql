-- What became of the tests, files and commits of fixes, by year, folder, class and reason? Folders have at most two levels.
SELECT year(t.committed_at) AS year,
       CASE WHEN t.path IS NULL THEN NULL
            WHEN len(string_split(t.path, '/')) > 2 THEN array_to_string(string_split(t.path, '/')[1:2], '/')
            ELSE string_split(t.path, '/')[1] END AS folder,
       CASE WHEN t.status <> 'script' THEN 'no_script' ELSE coalesce(k.class, 'not_run') END AS class,
       CASE WHEN t.status <> 'script' THEN t.reason ELSE k.reason END AS reason,
       count(*) AS tests,
       count(DISTINCT t.commit_sha) AS commits
FROM fix_tests t LEFT JOIN fix_test_classes k USING (name)
WHERE t.repo = $repo GROUP BY ALL ORDER BY year, folder, class, tests DESC, reason
