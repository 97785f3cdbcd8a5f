-- How long after its merge does a fix come out, and are the fixes whose tests run like the others? The population is every commit that was read
-- because it names a fixed issue. `class` is what its tests say: of several tests the first class of this list counts. `days` run from the commit to
-- the first upload of the first release with it, as far as that is known. `on_newest` are commits with a test that says something on the newest
-- release, `holds` those of which no test fails there, whatever its failure shows. $versions and $days are the releases of data/fix_tests.toml.
WITH released AS (
    SELECT unnest($versions::VARCHAR[]) AS version, unnest($days::DATE[]) AS day
), merged AS (
    SELECT t.commit_sha, any_value(t.committed_at)::DATE AS day, any_value(t.first_release) AS version, any_value(len(t.issues)) AS issues,
           bool_or(k.fails_on_newest) FILTER (WHERE k.class <> 'unusable') AS fails_on_newest,
           CASE WHEN bool_or(k.class = 'validated') THEN 'validated'
                WHEN bool_or(k.class = 'doubtful') THEN 'doubtful'
                WHEN bool_or(k.class = 'fails_after') THEN 'fails_after'
                WHEN bool_or(k.class = 'never_seen') THEN 'never_seen'
                WHEN bool_or(k.class = 'unusable') THEN 'unusable'
                WHEN bool_or(t.status = 'script') THEN 'not_run'
                WHEN bool_or(t.reason = 'reverted') THEN 'reverted'
                WHEN bool_or(t.test IS NOT NULL) THEN 'no_script'
                ELSE 'no_test' END AS class
    FROM fix_tests t LEFT JOIN fix_test_classes k USING (name) WHERE t.repo = $repo GROUP BY t.commit_sha
), dated AS (
    SELECT m.commit_sha, m.class, m.issues, m.fails_on_newest, min(date_diff('day', m.day, r.day)) AS days
    FROM merged m LEFT JOIN released r
      ON string_split(r.version, '.')::INTEGER[] >= string_split(m.version, '.')::INTEGER[]
    GROUP BY ALL
)
SELECT coalesce(class, 'all') AS class, count(*) AS commits, count(*) FILTER (WHERE issues = 1) AS one_issue,
       count(fails_on_newest) AS on_newest,
       count(*) FILTER (WHERE NOT fails_on_newest) AS holds, count(days) AS released, median(days) AS median_days, quantile_cont(days, 0.25) AS lower_days, quantile_cont(days, 0.75) AS upper_days
FROM dated GROUP BY ROLLUP (class)
ORDER BY list_position(['validated', 'doubtful', 'fails_after', 'never_seen', 'unusable', 'not_run', 'no_script', 'no_test', 'reverted'], class) NULLS LAST;
