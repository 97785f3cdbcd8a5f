-- Figure 9: how long does permute and contiguous take for each order of the dimensions, and which share of a plain copy's speed is that? From
-- the raw times ($raw: figure_9_raw.csv): the least time of each order, into fresh memory and into memory that was there (placed), beside
-- the least of a plain copy. What of an order may decide: a copy walks through its own last dimension first, in `step` bytes of the
-- source. Memory comes in lines of 64 bytes; of a longer step's line one element is used, and the rest only once the dimensions behind
-- `place` were walked through: the place of the source's last dimension, counted from the end of the copy. By then `reuse` bytes of lines
-- have come in, and beyond the size of a cache the line is fetched anew. The first dimension is of size 1: to move it copies nothing.
WITH times AS (
    SELECT device, series, variant, min(row) AS row, min(seconds) FILTER (step = 'fresh') AS fresh,
        median(seconds) FILTER (step = 'fresh') AS fresh_median, max(seconds) FILTER (step = 'fresh') AS fresh_most,
        min(seconds) FILTER (step = 'placed') AS placed, count(*) FILTER (step = 'fresh') AS repeats
    FROM (SELECT *, row_number() OVER () AS row FROM read_csv($raw)) GROUP BY device, series, variant
), orders AS (
    SELECT *, series[5:]::INTEGER AS side, string_split(variant, ' ')::INTEGER[] AS dimensions,
        list_filter(dimensions, lambda d: d > 0) AS moving, 5 - list_position(moving, 5) AS place
    FROM times WHERE variant <> 'plain copy'
)
SELECT o.device, o.series, side, o.variant AS "order",
    len(list_filter(range(6), lambda i: dimensions[i + 1] <> i)) AS geometry_moved,
    moving = list_sort(moving) AS geometry_untouched,
    place = 0 AS geometry_last_kept,
    place AS geometry_place,
    (4 * side ** (5 - moving[5]))::BIGINT AS geometry_step,
    if(place = 0, 0, 64 * side ** place)::BIGINT AS geometry_reuse,
    o.fresh, o.fresh_median, o.fresh_most, o.placed, c.fresh / o.fresh AS share_fresh, c.placed / o.placed AS share_placed, o.repeats
FROM orders o JOIN times c ON c.device = o.device AND c.series = o.series AND c.variant = 'plain copy' ORDER BY o.row;
