-- Which tests fail on a release with their fix, to be read by a person?
SELECT k.name, t.issues, t.path, t.owner || '.' || t.test AS test, k.validated_before, k.validated_after,
       k.failed, k.passed, k.unusable, t.later, k.detail
FROM fix_tests t JOIN fix_test_classes k USING (name)
WHERE t.repo = $repo AND k.class = 'fails_after' ORDER BY t.committed_at, k.name
