-- Verdicts per release.
SELECT build, count(*) FILTER (verdict = 'occurs') AS occurs, count(*) FILTER (verdict = 'absent') AS absent,
  count(*) FILTER (verdict = 'not_seen') AS not_seen, count(*) FILTER (verdict = 'changed') AS changed,
  count(*) FILTER (verdict = 'control_failed') AS control_failed,
  count(*) FILTER (verdict = 'inconclusive') AS inconclusive, count(*) FILTER (verdict = 'untestable') AS untestable
FROM matrix JOIN releases USING (build) GROUP BY build, place ORDER BY place
