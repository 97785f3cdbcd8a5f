-- Records that gave nothing, with the reason: rows of `rejects`.

CREATE OR REPLACE TEMP TABLE rejected AS
SELECT $source AS source, $origin AS origin, place::INTEGER AS line, coalesce(reason, 'malformed JSON') AS reason, left(line, 2000) AS raw,
       $fetched_at::TIMESTAMP AS fetched_at
FROM records WHERE json IS NULL
UNION ALL
SELECT $source, $origin, place::INTEGER,
       CASE WHEN coalesce(json_type(object), 'NULL') <> 'OBJECT' THEN 'no object but ' || lower(coalesce(json_type(object), 'NULL'))
            WHEN shape IS NULL THEN 'a record of unknown shape, with the keys ' || array_to_string(list_sort(has)[:20], ', ')
            ELSE 'no usable item number' END,
       coalesce(left(object::VARCHAR, 2000), 'null'), $fetched_at::TIMESTAMP
FROM staged WHERE shape IS NULL OR (number IS NULL AND shape IN ('item', 'comment', 'event', 'happening'));
