-- What is known of each test that a merged fix added or changed, and why other commits gave none: as text, lists with spaces between.
SELECT t.commit_sha, strftime(t.committed_at, '%Y-%m-%dT%H:%M:%SZ') AS committed_at, array_to_string(t.issues, ' ') AS issues,
       array_to_string(t.same, ' ') AS same, t.pull_number, t.path, t.owner, t.test, t.change, t.status, t.reason, t.name, t.first_release,
       t.first_release_by, t.later, t.rules, k.class, k.reason AS class_reason, array_to_string(k.failed, ' ') AS failed,
       array_to_string(k.passed, ' ') AS passed, array_to_string(k.unusable, ' ') AS unusable,
       array_to_string(k.unusable_because, ' ') AS unusable_because, k.validated_before, k.validated_after, k.fails_on_newest, k.variants,
       k.variants_run
FROM fix_tests t LEFT JOIN fix_test_classes k ON k.name = t.name AND k.provenance = 'own'
WHERE t.provenance = 'own' ORDER BY t.committed_at, t.commit_sha, t.path, t.owner, t.test
