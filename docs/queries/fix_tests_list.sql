-- Tests of merged fixes of some classes or with a reason, in the order of their commits.
SELECT coalesce(k.reason, k.class) AS class, list_transform(issues, lambda number: '#' || number) AS issues,
  path || ' ' || owner || '.' || test AS test,
  {text: commit_sha[:10], url: 'https://github.com/pytorch/pytorch/commit/' || commit_sha[:10]} AS "commit",
  failed AS "fails on", passed AS "passes on"
FROM fix_tests t JOIN fix_test_classes k USING (name)
WHERE list_contains($classes, k.class) OR list_contains($reasons, k.reason)
ORDER BY committed_at, path, test
