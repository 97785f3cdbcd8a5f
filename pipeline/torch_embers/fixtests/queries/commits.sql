-- How many commits that fix issues were read, and how far did their tests come?
SELECT count(DISTINCT commit_sha) AS commits,
       count(DISTINCT commit_sha) FILTER (WHERE test IS NOT NULL) AS with_tests,
       count(DISTINCT commit_sha) FILTER (WHERE t.status = 'script') AS with_script,
       count(DISTINCT commit_sha) FILTER (WHERE k.name IS NOT NULL) AS ran,
       count(DISTINCT commit_sha) FILTER (
           WHERE k.class IN ('validated', 'doubtful', 'never_seen', 'fails_after')) AS decided
FROM fix_tests t LEFT JOIN fix_test_classes k USING (name) WHERE t.repo = $repo
