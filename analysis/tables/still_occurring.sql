-- Of the bugs with a case, how many occur on the newest release that it ran on, by class and by what the tracker says? Two readings:
-- closed ones that are still there, and open ones that are gone. `n` counts the items of that state that could be tested there.
WITH newest AS (
    FROM study_verdicts QUALIFY place = max(place) OVER ()
), tested AS (
    SELECT v.repo, v.number, v.version, v.occurs, i.state, c.scheme, c.value AS class
    FROM newest v
    JOIN items i USING (repo, number)
    JOIN (SELECT repo, number, scheme, value FROM study_labels WHERE scheme IN ('bug_type', 'memory_type', 'consequence')
          UNION ALL SELECT repo, number, 'all', 'all' FROM newest) c USING (repo, number)
)
SELECT version AS release, scheme, class, state, count(*) FILTER (WHERE occurs) AS k, count(*) AS n
FROM tested WHERE state IS NOT NULL GROUP BY ALL ORDER BY scheme, class, state;
