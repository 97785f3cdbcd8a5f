-- The shipped facts about fix tests take the place of earlier ones; what this database says of a commit or a test itself stays alone.
-- The words of a list are separated by spaces. Nobody noted when a fact was decided.
DELETE FROM fix_tests WHERE provenance = 'shipped';
DELETE FROM fix_test_classes WHERE provenance = 'shipped';

INSERT INTO fix_tests BY NAME
SELECT 'pytorch/pytorch' AS repo, commit_sha, committed_at::TIMESTAMP AS committed_at, regexp_extract_all(coalesce(issues, ''), '\S+') AS issues,
       regexp_extract_all(coalesce(same, ''), '\S+') AS same, pull_number::INTEGER AS pull_number, path, owner, test, change, status, reason, name,
       first_release, first_release_by, later, rules, TIMESTAMP '2000-01-01' AS decided_at, 'shipped' AS provenance
FROM shipped_facts
WHERE commit_sha NOT IN (SELECT commit_sha FROM fix_tests WHERE repo = 'pytorch/pytorch');

INSERT INTO fix_test_classes BY NAME
SELECT name, class, class_reason AS reason, regexp_extract_all(coalesce(failed, ''), '\S+') AS failed,
       regexp_extract_all(coalesce(passed, ''), '\S+') AS passed, regexp_extract_all(coalesce(unusable, ''), '\S+') AS unusable,
       regexp_extract_all(coalesce(unusable_because, ''), '\S+') AS unusable_because, validated_before, validated_after,
       fails_on_newest::BOOLEAN AS fails_on_newest, variants::INTEGER AS variants, variants_run::INTEGER AS variants_run, rules,
       TIMESTAMP '2000-01-01' AS decided_at, 'shipped' AS provenance
FROM shipped_facts
WHERE class IS NOT NULL AND name NOT IN (SELECT name FROM fix_test_classes);
