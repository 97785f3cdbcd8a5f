-- Which parts of the data path get the most merges since the middle of 2022? One row per part with its rank by merges, and by patches: merges that
-- name an issue as repaired.
WITH counted AS (
    SELECT t.subcomponent, count(DISTINCT m.sha) AS merges, count(DISTINCT p.sha) AS patches
    FROM census_touched t JOIN census_merges m USING (sha) LEFT JOIN census_patches p USING (sha)
    WHERE t.component = 'data_path' AND m.committed_at >= TIMESTAMP '2022-07-01' GROUP BY ALL
)
SELECT subcomponent, merges, rank() OVER (ORDER BY merges DESC) AS by_merges, patches, rank() OVER (ORDER BY patches DESC) AS by_patches
FROM counted ORDER BY by_merges, subcomponent;
