-- Readers' answers about failures after the fix, and those about failures before it that are not `right`.
SELECT r.failure, coalesce(k.reason, k.class) AS class, list_transform(t.issues, lambda number: '#' || number) AS issues,
  t.path || ' ' || t.owner || '.' || t.test AS test,
  {text: t.commit_sha[:10], url: 'https://github.com/pytorch/pytorch/commit/' || t.commit_sha[:10]} AS "commit",
  r.verdict AS answer, r.why, r.annotator
FROM read_json('data/fix_test_reviews.jsonl', format = 'newline_delimited') r
  JOIN fix_tests t ON t.name = r."case" JOIN fix_test_classes k USING (name)
WHERE r.failure = 'after' OR r.verdict <> 'right' ORDER BY r.failure, t.committed_at
