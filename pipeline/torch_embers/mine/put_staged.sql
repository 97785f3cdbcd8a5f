-- Objects of `staged` as rows of `came`: an item without the comments, events and files inside it, which are objects of their own.

DROP TABLE opened;
-- what could be read is staged: it takes no second place in memory
CREATE OR REPLACE TEMP TABLE records AS FROM records WHERE json IS NULL;

CREATE OR REPLACE TEMP VIEW came AS
WITH bare AS (
    SELECT *, CASE WHEN has_parts THEN CASE json_type(object, '$.comments')
                       WHEN 'ARRAY' THEN TRY_CAST(json_extract(object, '$.comments') AS JSON[])
                       WHEN 'OBJECT' THEN TRY_CAST(json_extract(object, '$.comments.nodes') AS JSON[]) END END AS comments,
           CASE WHEN has_parts THEN TRY_CAST(json_extract(object, '$.timelineItems.nodes') AS JSON[]) END AS events,
           CASE WHEN has_parts THEN CASE json_type(object, '$.files')
                       WHEN 'ARRAY' THEN TRY_CAST(json_extract(object, '$.files') AS JSON[])
                       WHEN 'OBJECT' THEN TRY_CAST(json_extract(object, '$.files.nodes') AS JSON[]) END END AS files
    FROM staged WHERE shape = 'item' AND number IS NOT NULL
), parts AS (
    SELECT repo, number, nth, 'comment' AS kind, unnest(comments) AS object FROM bare
    UNION ALL BY NAME SELECT repo, number, nth, 'event' AS kind, unnest(events) AS object FROM bare
    UNION ALL BY NAME SELECT repo, number, nth, 'file' AS kind, unnest(files) AS object FROM bare
    UNION ALL BY NAME SELECT repo, number, nth, shape AS kind, object FROM staged WHERE shape IN ('comment', 'event')
), keyed AS (
    SELECT *, CASE kind WHEN 'comment' THEN coalesce(json_extract_string(object, '$.fullDatabaseId'),
                            nullif(regexp_extract(json_extract_string(object, '$.url'), '#issuecomment-([0-9]+)', 1), ''),
                            json_extract_string(object, '$.id'))
                        WHEN 'event' THEN coalesce(json_extract_string(object, '$.node_id'), json_extract_string(object, '$.id'))
                        ELSE coalesce(json_extract_string(object, '$.path'), json_extract_string(object, '$.filename')) END AS part
    FROM parts WHERE json_type(object) = 'OBJECT'
), all_objects AS (
    SELECT repo, 'item' AS kind, number::VARCHAR AS id, nth, moment(updated_at) AS said_at,
           CASE WHEN comments IS NULL AND events IS NULL AND files IS NULL THEN object
                ELSE json_merge_patch(object, json_object(
                    'comments', CASE WHEN json_type(object, '$.comments') = 'ARRAY' THEN len(comments)::JSON
                                     WHEN comments IS NOT NULL THEN '{"nodes": null}'::JSON ELSE json_extract(object, '$.comments') END,
                    'timelineItems', CASE WHEN events IS NOT NULL THEN '{"nodes": null}'::JSON END,
                    'files', CASE WHEN json_type(object, '$.files') = 'OBJECT' THEN '{"nodes": null}'::JSON END)) END AS object
    FROM bare
    UNION ALL BY NAME
    SELECT repo, kind, number || '/' || part AS id, nth,
           CASE WHEN kind = 'comment'
                THEN moment(coalesce(json_extract_string(object, '$.updated_at'), json_extract_string(object, '$.updatedAt'))) END AS said_at,
           object
    FROM keyed WHERE part IS NOT NULL
    UNION ALL BY NAME
    SELECT repo, 'happening' AS kind, number || '/' || coalesce(json_extract_string(object, '$.id'), 'at:' || md5(object)) AS id, nth,
           CASE WHEN json_extract_string(object, '$.payload.action') IN ('deleted', 'transferred')
                     AND json_extract_string(object, '$.type') = 'IssuesEvent'
                THEN greatest(moment(json_extract_string(thing, '$.updated_at')), moment(json_extract_string(object, '$.created_at')))
                ELSE coalesce(moment(json_extract_string(thing, '$.updated_at')), moment(json_extract_string(object, '$.created_at'))) END
               AS said_at, object
    FROM (SELECT *, coalesce(json_extract(object, '$.payload.issue'), json_extract(object, '$.payload.pull_request')) AS thing FROM staged)
    WHERE shape = 'happening' AND number IS NOT NULL
)
SELECT repo, kind, id, said_at, nth AS sequence, object::JSON AS json_text FROM all_objects;
