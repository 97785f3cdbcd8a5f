-- Tests of merged fixes by year of the commit, folder, class and reason.
SELECT year(committed_at)::TEXT AS year, regexp_replace(coalesce(path, '-'), '/[^/]*$', '') AS folder,
  coalesce(k.class, CASE WHEN status = 'script' THEN 'not_run' ELSE 'no_script' END) AS class, coalesce(k.reason, t.reason) AS reason,
  count(*) FILTER (owner IS NOT NULL) AS tests, count(DISTINCT commit_sha) AS commits
FROM fix_tests t LEFT JOIN fix_test_classes k USING (name) GROUP BY ALL ORDER BY year, folder, tests DESC, reason
