-- Cases whose verdict changes between two releases.
WITH decided AS (
  SELECT "case", build, place, verdict, lag(verdict) OVER (PARTITION BY "case" ORDER BY place) AS before
  FROM matrix JOIN releases USING (build) WHERE verdict IN ('occurs', 'absent', 'changed')
)
SELECT "case" AS "`case`", string_agg(verdict || ' from ' || build, ', then ' ORDER BY place) AS verdicts
FROM decided WHERE before IS DISTINCT FROM verdict GROUP BY "case" HAVING count(*) > 1 ORDER BY "case"
