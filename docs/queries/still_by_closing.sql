-- Of how many issues the report's own case or script decides on the newest release, and of how many the bug is there: the answers of
-- `embers status`, of the issues in the catalog.
SELECT issues AS issue, decided AS "decided on the newest release", still_occurs AS "its script still fails"
FROM answer_counts WHERE decided > 0 AND NOT starts_with(issues, 'not mined') ORDER BY place
