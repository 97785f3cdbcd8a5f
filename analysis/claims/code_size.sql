-- How many lines did a component or a part of it have: in the first release from 1.3.0 on (`which` = first) or the last up to 2024?
-- Empty without lines of code from a clone (embers mine --source git).
WITH sizes AS (
    SELECT tag, min(tagged_at) AS tagged, sum(lines) AS lines
    FROM code_sizes
    WHERE repo = 'pytorch/pytorch' AND (component = $part OR subcomponent = $part)
      AND tagged_at >= TIMESTAMP '2019-10-01' AND tagged_at < TIMESTAMP '2025-01-01'
    GROUP BY tag
)
-- A clone that ends before 2024, or begins after version 1.3.0, does not hold that release.
SELECT CASE WHEN $which = 'first' THEN arg_min(lines, tagged) FILTER (WHERE tagged < TIMESTAMP '2020-01-01')
            ELSE arg_max(lines, tagged) FILTER (WHERE tagged >= TIMESTAMP '2024-01-01') END AS k
FROM sizes;
