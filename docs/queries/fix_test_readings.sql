-- Readers' answers about failures after the fix, and those about failures before it that are not `right`.
SELECT CASE question WHEN 'shows_bug' THEN 'before' ELSE 'after' END AS failure, coalesce(k.reason, k.class) AS class,
  list_transform(t.issues, lambda number: '#' || number) AS issues,
  t.path || ' ' || t.owner || '.' || t.test AS test,
  {text: t.commit_sha[:10], url: 'https://github.com/pytorch/pytorch/commit/' || t.commit_sha[:10]} AS "commit",
  j.answer, j.reason AS why, split_part(j.reader, ':', 2) AS annotator
FROM judgements j JOIN fix_tests t ON j.subject = 'fix_test:' || t.name JOIN fix_test_classes k USING (name)
WHERE question = 'shows_bug_again' OR (question = 'shows_bug' AND answer <> 'right')
ORDER BY failure, t.committed_at, t.name, j.reader
