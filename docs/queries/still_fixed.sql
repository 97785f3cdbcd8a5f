-- Issues whose own case is decided on the newest release: those whose fix was seen, and those closed for an unknown reason.
SELECT (SELECT build FROM releases WHERE is_newest) AS newest,
  count(DISTINCT number) FILTER (kind = 'fixed' AND decided) AS fixed,
  count(DISTINCT number) FILTER (kind = 'fixed' AND verdict = 'occurs') AS fixed_occur,
  count(DISTINCT number) FILTER (kind = 'fixed') - fixed AS fixed_left,
  count(DISTINCT number) FILTER (kind = 'unknown' AND decided) AS unseen,
  count(DISTINCT number) FILTER (kind = 'unknown' AND verdict = 'occurs') AS unseen_occur,
  count(DISTINCT number) FILTER (kind = 'unknown') - unseen AS unseen_left,
  fixed + unseen AS both, fixed_occur + unseen_occur AS both_occur
FROM (SELECT *, verdict IN ('occurs', 'absent') AS decided FROM pairs WHERE relation = 'same')
