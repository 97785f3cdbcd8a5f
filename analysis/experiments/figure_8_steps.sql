-- Figure 8, below: how long does each operation of the chain take in both arms, and contiguous() behind it? From the raw times
-- ($raw: figure_8_raw.csv), seconds for one image in the quickest pass.
WITH least AS (
    SELECT device, series, variant, step, min(seconds / amount) AS seconds, min(row) AS row
    FROM (SELECT *, row_number() OVER () AS row FROM read_csv($raw)) GROUP BY ALL
)
SELECT d.device, d.series, d.step, d.seconds AS "default", a.seconds AS aware, c.seconds AS copying
FROM least d
JOIN least a USING (device, series, step)
JOIN least c ON c.device = d.device AND c.series = d.series AND c.step = 'contiguous() ' || d.step
WHERE d.variant = 'default' AND a.variant = 'contiguity-aware' ORDER BY d.row;
