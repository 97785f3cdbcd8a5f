-- Of the issues with a test that shows their bug before the fix (relation same), how many fail on the newest release on which any test ran, and what do
-- readers say of these failures? Readers decide which failures before a fix show its bug; where nobody read one, the rules do. $before and $after are
-- the answers of readers about the failure before the fix and after it: names of cases, and for each right, wrong or unclear.
WITH before_fix AS (
    SELECT unnest($before_names::VARCHAR[]) AS name, unnest($before_answers::VARCHAR[]) AS answer
), after_fix AS (
    SELECT unnest($after_names::VARCHAR[]) AS name, unnest($after_answers::VARCHAR[]) AS answer
), classed AS (
    SELECT t.same, k.* FROM fix_tests t JOIN fix_test_classes k USING (name) WHERE t.repo = $repo
), newest AS (
    SELECT coalesce(max_by(version, TRY_CAST(string_split(version, '.') AS INTEGER[])), '') AS version
    FROM (SELECT unnest(failed || passed || unusable) AS version FROM classed)
), shown AS (
    SELECT unnest(c.same) AS number, b.answer = 'right' AS is_read, list_contains(c.failed, n.version) AS fails,
           coalesce(a.answer, '') AS answer
    FROM classed c CROSS JOIN newest n LEFT JOIN before_fix b USING (name) LEFT JOIN after_fix a USING (name)
    WHERE c.validated_before IS NOT NULL AND list_contains(c.failed || c.passed, n.version)
      AND CASE WHEN b.answer IS NULL THEN c.class <> 'doubtful' AND c.reason IS NULL ELSE b.answer = 'right' END
), by_issue AS (
    SELECT number, bool_or(is_read) AS is_read, bool_or(fails) AS fails, bool_or(answer = 'right') FILTER (WHERE fails) AS again,
           bool_and(answer = 'wrong') FILTER (WHERE fails) AS otherwise
    FROM shown GROUP BY number
)
SELECT (SELECT version FROM newest) AS newest, count(*) AS issues, count(*) FILTER (WHERE is_read) AS read,
       count(*) FILTER (WHERE fails) AS fails, count(*) FILTER (WHERE again) AS again, count(*) FILTER (WHERE otherwise) AS otherwise,
       count(*) FILTER (WHERE fails AND NOT again AND NOT otherwise) AS open
FROM by_issue
