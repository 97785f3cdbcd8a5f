-- Which tests did merged fixes bring, and what does each do on which release? One row per test of a commit; one run per release.
SELECT
    t.repo, t.commit_sha, t.path, t.owner, t.test, t.change, t.issues, t.same, t.pull_number, t.committed_at, t.status,
    coalesce(k.reason, t.reason) AS reason, t.first_release, t.first_release_by, t.later, k.class, k.failed, k.passed, k.unusable,
    coalesce(k.provenance, t.provenance) AS provenance
FROM fix_tests t LEFT JOIN fix_test_classes k USING (name)
ORDER BY t.repo, t.commit_sha, t.path, t.owner, t.test
