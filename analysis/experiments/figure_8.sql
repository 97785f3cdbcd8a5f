-- Figure 8: how many times as long does the chain of augmentations take by default as when every tensor is kept contiguous? From
-- the raw times ($raw: figure_8_raw.csv), seconds for one image: medians over pairs of passes that were measured side by side, and
-- their intervals by ranks alone. The k-th lowest and the k-th highest of n values enclose the median with probability 1 - 2 P(X < k),
-- X binomial with n trials of chance one half (W. R. Thompson, Annals of Mathematical Statistics 7, 1936): the narrowest of 95 %.
WITH pairs AS (
    SELECT device, series, repeat, min(row) AS row,
        any_value(seconds / amount) FILTER (variant = 'default') AS "default",
        any_value(seconds / amount) FILTER (variant = 'contiguity-aware') AS aware,
        "default" / aware AS ratio
    FROM (SELECT *, row_number() OVER () AS row FROM read_csv($raw)) WHERE step = 'chain'
    GROUP BY device, series, repeat HAVING ratio IS NOT NULL
), sorted AS (
    SELECT device, series, min(row) AS row, count(*) AS pairs, list_sort(list("default")) AS "default", list_sort(list(aware)) AS aware,
        list_sort(list(ratio)) AS ratio
    FROM pairs GROUP BY device, series
), chances AS ( -- that of k - 1 of n, and what the k-th values hold
    SELECT n, k, 1 - 2 * sum(exp(lgamma(n + 1) - lgamma(k) - lgamma(n - k + 2) - n * ln(2))) OVER (PARTITION BY n ORDER BY k) AS held
    FROM (SELECT DISTINCT pairs AS n FROM sorted), range(1, greatest(n // 2, 1) + 1) AS ranks(k)
), ranks AS ( -- with few pairs lowest and highest, which hold less
    SELECT n AS pairs, coalesce(max(k) FILTER (held >= 0.95), 1) AS k, greatest(coalesce(min(held) FILTER (held >= 0.95), max(held)), 0.0) AS held
    FROM chances GROUP BY n
)
SELECT device, series,
    list_median("default") AS default_value, "default"[k] AS default_low, "default"[-k] AS default_high, held AS default_confidence,
    list_median(aware) AS aware_value, aware[k] AS aware_low, aware[-k] AS aware_high, held AS aware_confidence,
    list_median(ratio) AS ratio_value, ratio[k] AS ratio_low, ratio[-k] AS ratio_high, held AS ratio_confidence,
    pairs, "default"[1] AS least,
    100 * (ratio_value - 1) AS faster_percent, 100 * (1 - 1 / ratio_value) AS saved_percent -- as the paper's 73.9 and 42.5
FROM sorted JOIN ranks USING (pairs) ORDER BY row;
