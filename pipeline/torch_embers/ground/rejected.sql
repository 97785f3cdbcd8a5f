-- Records that gave nothing, with the reason: rows of `rejects`.

CREATE OR REPLACE TEMP TABLE rejected AS
SELECT $source AS source, $origin AS origin, place::INTEGER AS line, 'malformed JSON' AS reason, left(line, 2000) AS raw,
       $fetched_at::TIMESTAMP AS fetched_at
FROM records WHERE json IS NULL
UNION ALL
SELECT $source, $origin, place::INTEGER,
       CASE WHEN json_type(object) <> 'OBJECT' THEN 'no object but ' || lower(json_type(object))
            WHEN shape IS NULL THEN 'a record of unknown shape, with the keys ' || array_to_string(list_sort(has)[:20], ', ')
            ELSE 'no usable item number' END,
       left(object::VARCHAR, 2000), $fetched_at::TIMESTAMP
FROM staged WHERE shape IS NULL OR (number IS NULL AND shape IN ('item', 'comment', 'event', 'happening'));
