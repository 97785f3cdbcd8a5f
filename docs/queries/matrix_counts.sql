-- Verdicts per release.
SELECT build, nullif(count(*) FILTER (verdict = 'occurs'), 0) AS occurs, nullif(count(*) FILTER (verdict = 'absent'), 0) AS absent,
  nullif(count(*) FILTER (verdict = 'not_seen'), 0) AS not_seen, nullif(count(*) FILTER (verdict = 'changed'), 0) AS changed,
  nullif(count(*) FILTER (verdict = 'control_failed'), 0) AS control_failed,
  nullif(count(*) FILTER (verdict = 'inconclusive'), 0) AS inconclusive, nullif(count(*) FILTER (verdict = 'untestable'), 0) AS untestable
FROM matrix JOIN releases USING (build) GROUP BY build, place ORDER BY place
