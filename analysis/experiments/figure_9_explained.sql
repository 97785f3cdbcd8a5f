-- Figure 9: how much of the differences in time between orders does a description of them explain? From the raw times ($raw:
-- figure_9_raw.csv) and what figure_9.sql made of them (figure_9): R squared of the logarithm of an order's least time, as `share`, and adjusted
-- for the number of groups. `repeatable` is the same for orders as groups of their own halves, even and odd repeats: where it is low,
-- an order measured again differs as orders do, and nothing can be explained.
WITH moving AS (
    SELECT *, row_number() OVER () AS row FROM figure_9 WHERE placed IS NOT NULL
), halves AS (
    SELECT device, series, step, 'repeatable' AS description, "order" AS "group", ln(min(seconds)) AS value, min(row) AS row
    FROM read_csv($raw) raw JOIN moving USING (device, series) WHERE variant = "order" GROUP BY device, series, step, "order", repeat % 2
), described AS (
    UNPIVOT (
        SELECT device, series, row, step, ln(seconds) AS value, geometry_moved::VARCHAR AS moved, geometry_last_kept::VARCHAR AS last_kept,
            geometry_step::VARCHAR AS "step of order", geometry_place::VARCHAR AS place
        FROM (UNPIVOT moving ON fresh, placed INTO NAME step VALUE seconds)
    ) ON moved, last_kept, "step of order", place INTO NAME description VALUE "group"
), deviations AS (
    SELECT *, value - avg(value) OVER (PARTITION BY device, series, step, description) AS from_all,
        value - avg(value) OVER (PARTITION BY device, series, step, description, "group") AS from_group
    FROM (FROM described UNION ALL BY NAME FROM halves)
), shares AS (
    SELECT device, series, step, description, min(row) AS row, count(*) AS orders, count(DISTINCT "group") AS groups,
        1 - sum(from_group ** 2) / sum(from_all ** 2) AS share,
        if(orders > groups, 1 - (1 - share) * (orders - 1) / (orders - groups), NULL) AS adjusted
    FROM deviations GROUP BY device, series, step, description
)
SELECT s.device, s.series, s.step, replace(s.description, ' of order', '') AS description, s.share, s.adjusted, s.orders, s.groups,
    coalesce(r.adjusted, 0.0) AS repeatable
FROM shares s JOIN shares r ON r.device = s.device AND r.series = s.series AND r.step = s.step AND r.description = 'repeatable'
WHERE s.description <> 'repeatable'
ORDER BY s.row, s.step, list_position(['moved', 'last_kept', 'step of order', 'place'], s.description);
