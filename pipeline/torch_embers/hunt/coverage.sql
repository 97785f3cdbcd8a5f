-- What was called how often, and what was not called and why? One row per kind of call, then one per reason. Of results
-- of the same operator, dtype and modes on a build the last one counts. $journal: the path of the file.
WITH lines AS (
    SELECT row_number() OVER () AS place, *
    FROM read_json($journal, format = 'newline_delimited', maximum_object_size = 268435456, columns = {
        build: 'VARCHAR', op: 'VARCHAR', dtype: 'VARCHAR', modes: 'VARCHAR[]', own: 'VARCHAR', ended: 'VARCHAR',
        cells: 'VARCHAR[][]', skipped: 'MAP(VARCHAR, INTEGER)'})
), results AS (
    SELECT * FROM lines QUALIFY place = max(place) OVER (PARTITION BY build, op, dtype, modes)
), found AS (
    SELECT build, op, dtype, own, modes, 0 AS part, unnest(cells) AS cell, {'key': '', 'value': 0} AS left_out
    FROM results
    UNION ALL
    SELECT build, op, dtype, own, modes, 1, NULL, unnest(map_entries(skipped)) FROM results
    UNION ALL
    SELECT build, op, dtype, own, modes, 2, NULL, {'key': ended, 'value': 1} FROM results WHERE ended <> ''
)
SELECT build, op, dtype, own, coalesce(cell[1], '') AS mode, coalesce(cell[2], '') AS operator,
    coalesce(cell[3], '') AS argument, coalesce(cell[4], '') AS layout, left_out.key AS reason,
    coalesce(cell[5]::INTEGER, 0) AS tested, coalesce(cell[6]::INTEGER, 0) AS guarded, coalesce(cell[7]::INTEGER, 0) AS wrong,
    coalesce(cell[8]::INTEGER, 0) AS outside, coalesce(cell[9]::INTEGER, 0) AS refused,
    coalesce(cell[10]::INTEGER, 0) AS undecided, coalesce(cell[11]::INTEGER, 0) AS died,
    left_out.value::INTEGER AS skipped
FROM found
ORDER BY build, op, dtype, modes, part, cell, reason
