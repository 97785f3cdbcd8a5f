-- How many items, cases, releases and verdicts come with embers.
SELECT (SELECT count(*) FROM catalog) AS items, count(DISTINCT "case") AS cases, count(*) AS verdicts,
  count(DISTINCT build) AS releases, (SELECT build FROM releases WHERE place = 1) AS oldest,
  (SELECT build FROM releases WHERE is_newest) AS newest
FROM matrix
