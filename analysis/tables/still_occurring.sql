-- Of the issues with a case, how many occur on the newest release that it ran on, by class and by what the tracker decided? `n` counts
-- the issues of that group that were decided there. Closed as fixed: the thread shows a fix. Of these and of open issues only a case with
-- the report's own input decides, with a control, and the issue is left out where it did not. A pull request is no bug and is left out.
-- Of a day in the past the state is `not known of that day` where nobody dates a closing or its reason; today there is no such row.
-- The rows of the scheme `disposition` split those that were closed otherwise.
WITH newest AS (
    FROM study_verdicts QUALIFY place = max(place) OVER ()
), tested AS (
    SELECT v.repo, v.number, v.version, c.scheme, c.value AS class,
           CASE WHEN k.closing = 'closed as fixed' AND NOT v.is_report THEN 'closed otherwise'
                WHEN k.closing = 'open' AND NOT v.is_report THEN 'open, case of another input'
                ELSE coalesce(k.closing, 'not known of that day') END AS closing,
           CASE WHEN k.closing IN ('closed as fixed', 'open') AND v.is_report THEN v.report_occurs ELSE v.occurs END AS occurs
    FROM newest v
    JOIN study_closings k USING (repo, number)
    JOIN (SELECT repo, number, scheme, value FROM study_labels WHERE scheme IN ('bug_type', 'memory_type', 'consequence')
          UNION ALL SELECT repo, number, 'all', 'all' FROM newest
          UNION ALL SELECT repo, number, 'disposition', CASE disposition WHEN 'fixed' THEN 'fixed, case of another input' ELSE disposition END
          FROM study_dispositions) c USING (repo, number)
)
SELECT version AS release, scheme, class, closing AS state, count(*) FILTER (WHERE occurs) AS k, count(*) AS n
FROM tested WHERE occurs IS NOT NULL AND (scheme <> 'disposition' OR closing = 'closed otherwise')
GROUP BY ALL ORDER BY scheme, class, state;
