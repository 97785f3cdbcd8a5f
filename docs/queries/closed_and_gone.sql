-- Issues that were closed as fixed and whose own case is absent from the newest release.
SELECT repo || '#' || number AS issue, "case" AS "`own case`", k || '/' || n AS "k/n", since AS "absent from", control_words AS control, why AS "closed as fixed by"
FROM pairs WHERE kind = 'fixed' AND relation = 'same' AND verdict = 'absent' ORDER BY number, "case"
