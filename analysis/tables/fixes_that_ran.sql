-- Are the fixes whose tests ran like the others? Of the commits that fix issues, by year, component of the changed files, and number of
-- changed lines outside of tests: `k` of `n` are of that class, among the commits with a test that ran (`ran`), those with a test that is
-- decided (`decided`), and the others (`rest`). The commits are those of which data/fix_commit_facts.csv knows the files; only such from
-- the first day on from which tests were run are compared.
WITH ran AS (
    SELECT t.commit_sha, any_value(t.committed_at) AS committed_at, count(k.name) > 0 AS ran,
           count(*) FILTER (k.class IN ('validated', 'doubtful', 'never_seen', 'fails_after')) > 0 AS decided
    FROM fix_tests t LEFT JOIN fix_test_classes k USING (name)
    WHERE t.committed_at < (SELECT before_day FROM study_time) GROUP BY t.commit_sha
), known AS (
    SELECT c.*, r.ran, r.decided, year(r.committed_at)::VARCHAR AS year FROM study_fix_commits c JOIN ran r USING (commit_sha)
    WHERE r.committed_at >= (SELECT min(committed_at) FROM ran WHERE ran.ran)
), groups AS (
    SELECT *, 'ran' AS tests FROM known WHERE ran
    UNION ALL SELECT *, 'decided' FROM known WHERE decided
    UNION ALL SELECT *, 'rest' FROM known WHERE NOT ran
), named AS (
    SELECT tests, 'year' AS scheme, year AS class FROM groups
    UNION ALL SELECT tests, 'component', component FROM groups
    UNION ALL SELECT tests, 'lines', CASE WHEN lines < 10 THEN 'up to 9' WHEN lines < 100 THEN '10 to 99' ELSE '100 and more' END FROM groups
)
SELECT scheme, class, tests, count(*) AS k, sum(count(*)) OVER (PARTITION BY scheme, tests) AS n
FROM named GROUP BY scheme, class, tests ORDER BY scheme, class, tests;
