-- Which tests did merged fixes bring, and what does each do on which release (one run each)? One row per test and issue; without a
-- class it never ran.
SELECT t.repo, t.number, i.title, i.state, t.name, t.path, t.owner || '.' || t.test AS test,
       CASE WHEN list_contains(t.same, t.number::VARCHAR) THEN 'same' ELSE 'sibling' END AS relation,
       k.class, k.reason, k.failed, k.passed, t.first_release, t.commit_sha, t.committed_at, k.provenance
FROM (SELECT *, unnest(issues)::INTEGER AS number FROM fix_tests) t
LEFT JOIN fix_test_classes k USING (name)
LEFT JOIN items i USING (repo, number)
ORDER BY t.repo, t.number, t.name
