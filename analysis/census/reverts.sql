-- How many merges of each year were reverted later, and after how many days? A revert itself is no merge here. The last year had less
-- time to be reverted in than the others.
SELECT m.year, count(*) AS n, count(r.sha) AS k,
       round(median(epoch(r.reverted_at - r.merged_at) / 86400), 2) AS median_days,
       round(quantile_cont(epoch(r.reverted_at - r.merged_at) / 86400, 0.9), 1) AS ninth_decile_days,
       count(*) FILTER (WHERE r.reverted_at - r.merged_at <= INTERVAL 1 DAY) AS within_a_day
FROM census_merges m ANTI JOIN census_turns t USING (sha)
LEFT JOIN census_reverted r USING (sha)
GROUP BY ROLLUP (m.year) ORDER BY m.year NULLS LAST;
