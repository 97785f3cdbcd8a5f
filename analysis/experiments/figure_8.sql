-- Figure 8: how many times as long does the chain of augmentations take by default as when every tensor is kept contiguous? From
-- the raw times ($raw: figure_8_raw.csv): the median over pairs of passes that were measured side by side.
WITH passes AS (
    SELECT device, series, variant, repeat, seconds FROM read_csv($raw) WHERE step = 'chain'
)
SELECT d.device, d.series, median(d.seconds / a.seconds) AS ratio, count(*) AS pairs
FROM passes d JOIN passes a USING (device, series, repeat)
WHERE d.variant = 'default' AND a.variant = 'contiguity-aware'
GROUP BY ALL ORDER BY device, series;
