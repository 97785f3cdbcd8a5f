-- Figure 4 on the census: how many patches did each part of the data path get in each half year? A patch counts once for each part that
-- its files touch; dated by its merge. The last half year ends with the history.
SELECT p.year, p.half, t.subcomponent, bool_or(t.strict) AS strict, count(DISTINCT p.sha) AS k,
       (SELECT count(DISTINCT sha) FROM census_patches a WHERE a.year = p.year AND a.half = p.half) AS patches
FROM census_patches p JOIN census_touched t USING (sha)
WHERE t.component = 'data_path'
GROUP BY p.year, p.half, t.subcomponent ORDER BY p.year, p.half, t.subcomponent;
