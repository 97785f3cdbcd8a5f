-- How many items, cases, releases and verdicts come with embers, and how many pairs of case and release could not be tested.
SELECT (SELECT count(*) FROM catalog) AS items, count(DISTINCT "case") AS cases, count(*) FILTER (verdict <> 'untestable') AS verdicts,
  count(*) FILTER (verdict = 'untestable') AS untestable,
  count(DISTINCT build) AS releases, (SELECT build FROM releases WHERE place = 1) AS oldest,
  (SELECT build FROM releases WHERE is_newest) AS newest
FROM matrix
