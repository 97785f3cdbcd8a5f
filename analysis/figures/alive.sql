-- On each release, how many of the issues with a case still occur, by what the tracker decided about them? An issue counts as closed as
-- fixed only where its thread shows a fix. Of these and of open issues only a case with the report's own input decides, and the issue is left
-- out where it did not. Those that were closed otherwise are split by why, and where only a case of another input is at hand. An issue is
-- counted on the releases that came out after its report.
WITH decided AS (
    SELECT v.version, v.released, v.place,
           CASE WHEN k.closing = 'closed as fixed' AND NOT v.is_report THEN 'fixed, case of another input'
                WHEN k.closing <> 'closed otherwise' THEN k.closing
                WHEN i.disposition IN ('declined', 'duplicate', 'superseded', 'stale') THEN 'closed without a fix'
                ELSE 'closed, reason unknown' END AS class,
           CASE WHEN k.closing IN ('closed as fixed', 'open') AND v.is_report THEN v.report_occurs ELSE v.occurs END AS occurs
    FROM study_verdicts v
    JOIN study_closings k USING (repo, number)
    JOIN study_dates d USING (repo, number)
    LEFT JOIN study_dispositions i USING (repo, number)
    WHERE k.closing IS NOT NULL AND d.reported_at < v.released AND (k.closing <> 'open' OR v.is_report)
)
SELECT version AS release, released, class, count(*) FILTER (WHERE occurs) AS k, count(*) AS n
FROM decided WHERE occurs IS NOT NULL GROUP BY version, released, place, class ORDER BY place, class;
