-- Figure 9: how long does permute and contiguous take for each order of the dimensions, and which share of a plain copy's speed is that? From
-- the raw times ($raw: figure_9_raw.csv): the least time of each order into fresh memory, beside the least of a plain copy.
WITH least AS (
    SELECT device, series, variant, min(seconds) AS seconds FROM read_csv($raw) WHERE step = 'fresh' GROUP BY ALL
)
SELECT o.device, o.series, o.variant AS order_of_dimensions, o.seconds, c.seconds / o.seconds AS share
FROM least o JOIN least c ON c.device = o.device AND c.series = o.series AND c.variant = 'plain copy'
WHERE o.variant <> 'plain copy' ORDER BY device, series, seconds;
