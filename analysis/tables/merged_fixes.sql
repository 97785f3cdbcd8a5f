-- What do the tests of merged fixes say, when was the fix released, and does it hold on the newest release? `days` are those from the commit
-- to the first upload of the first release with it. The population is every commit that names a fixed issue, of the shipped facts or of a
-- user's own clone. Of several tests of a commit the first class of the list at the end counts.
-- `n` are commits with a test that says something on the newest release, `k` those of which none fails there, whatever the failure shows.
-- The row `seen to fail before the fix` pools commits with a test that failed on a release before the fix and passed on one with it, and
-- counts such tests alone: `validated` commits hold by definition, this row can fall.
WITH newest AS (
    SELECT max(string_split(v, '.')::INTEGER[]) AS place FROM fix_test_classes, unnest(failed || passed || unusable) AS t(v)
), tests AS (
    SELECT t.repo, t.commit_sha, t.committed_at::DATE AS day, t.first_release, t.status, t.reason AS refused, t.test, k.class,
           k.validated_before IS NOT NULL AS seen, CASE WHEN k.class <> 'unusable' THEN k.fails_on_newest END AS fails
    FROM fix_tests t LEFT JOIN fix_test_classes k USING (name)
    WHERE t.committed_at < (SELECT before_day FROM study_time)
), commits AS (
    SELECT repo, commit_sha, any_value(day) AS day, any_value(first_release) AS version, bool_or(fails) AS fails, bool_or(fails) FILTER (seen) AS seen_fails,
           bool_or(seen) AS seen,
           CASE WHEN bool_or(class = 'validated') THEN 'validated'
                WHEN bool_or(class = 'doubtful') THEN 'doubtful'
                WHEN bool_or(class = 'fails_after') THEN 'fails_after'
                WHEN bool_or(class = 'never_seen') THEN 'never_seen'
                WHEN bool_or(class = 'unusable') THEN 'unusable'
                WHEN bool_or(status = 'script') THEN 'not_run'
                WHEN bool_or(refused = 'reverted') THEN 'reverted'
                WHEN bool_or(test IS NOT NULL) THEN 'no_script'
                ELSE 'no_test' END AS class
    FROM tests GROUP BY repo, commit_sha
), dated AS (
    SELECT c.* EXCLUDE (fails, seen_fails, version), c.fails, c.seen_fails, min(date_diff('day', c.day, r.released)) AS days
    FROM commits c LEFT JOIN study_first_days r ON string_split(r.version, '.')::INTEGER[] >= string_split(c.version, '.')::INTEGER[]
    GROUP BY ALL
), counted AS (
    SELECT class, days, fails FROM dated
    UNION ALL SELECT 'all', days, fails FROM dated
    UNION ALL SELECT 'seen to fail before the fix', days, seen_fails FROM dated WHERE seen
)
SELECT class, count(*) AS commits, count(days) AS released, median(days) AS median_days, quantile_cont(days, 0.25) AS lower_days,
       quantile_cont(days, 0.75) AS upper_days, (SELECT array_to_string(place, '.') FROM newest) AS release,
       count(*) FILTER (NOT fails) AS k, count(fails) AS n
FROM counted GROUP BY class
ORDER BY list_position(['validated', 'doubtful', 'fails_after', 'never_seen', 'unusable', 'not_run', 'no_script', 'no_test', 'reverted', 'all',
                        'seen to fail before the fix'], class);
