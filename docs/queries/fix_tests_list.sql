-- Tests of merged fixes of some classes or with a reason, in the order of their commits; neighbours among all releases
-- on which any test was run are one span.
WITH releases AS (SELECT list(DISTINCT release) AS run_on FROM (SELECT unnest(failed || passed) AS release FROM fix_test_classes))
SELECT coalesce(k.reason, k.class) AS class, list_transform(issues, lambda number: '#' || number) AS issues,
  spans(failed, run_on) AS "fails on", spans(passed, run_on) AS "passes on",
  {text: commit_sha[:10], url: 'https://github.com/pytorch/pytorch/commit/' || commit_sha[:10]} AS "commit",
  concat_ws(' ', path, owner, test) AS test
FROM fix_tests t JOIN fix_test_classes k USING (name) CROSS JOIN releases
WHERE list_contains($classes, k.class) OR list_contains($reasons, k.reason)
ORDER BY committed_at, path, test
