-- Open issues all of whose own cases are absent from the newest release.
WITH own AS (
  SELECT *, bool_and(verdict = 'absent') OVER (PARTITION BY repo, number) AS is_gone
  FROM pairs WHERE kind = 'open' AND relation = 'same' AND verdict <> 'untestable'
)
SELECT o.repo || '#' || o.number AS issue, o."case" AS "`case`", since AS "absent from", k || '/' || n AS "k/n", processor,
  control_words AS control, coalesce(r.thread_read, 'no') AS "thread read",
  round(100 * (1 - 0.01 ** (1 / n))) || '%' AS "detectable rate"
FROM own o LEFT JOIN case_readings r ON r."case" = o."case" AND r.number = o.number AND r.is_newest
WHERE is_gone ORDER BY o.number, o."case"
