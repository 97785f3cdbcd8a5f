-- Lines of a file with their numbers and JSON. DuckDB leaves out a line that is too long or no UTF-8, and counts on without it.
-- The text of a line is kept beside its JSON only where that must be mended or refused.

CREATE OR REPLACE TEMP TABLE records AS
SELECT nth AS place, CASE WHEN json IS NULL OR contains(line, '\u0000') THEN line END AS line, NULL::VARCHAR AS reason, json, json_keys(json) AS has
FROM (
    SELECT *, TRY_CAST(line AS JSON) AS json
    FROM (
        SELECT row_number() OVER () AS nth, line
        FROM read_csv($path, columns = {'line': 'VARCHAR'}, delim = chr(1), quote = '', escape = '', header = false, auto_detect = false,
                      strict_mode = false, max_line_size = 16777216, encoding = $encoding, compression = $compression, ignore_errors = true,
                      store_rejects = true, rejects_limit = 0)
    )
    WHERE regexp_matches(line, '[^\p{Zs}]')  -- trim() would read each line to its end
      AND ($repo IS NULL OR contains(lower(line), $repo) OR contains(lower(line), replace($repo, '/', '\/'))
           OR (contains(line, '"repository"') AND contains(lower(line), '"' || split_part($repo, '/', 2) || '"')))
);

CREATE OR REPLACE TEMP TABLE wrong AS
SELECT line AS place, row_number() OVER (ORDER BY line) AS j, ltrim(csv_line, chr(10)) AS line,
       CASE WHEN error_type = 'LINE SIZE OVER MAXIMUM' THEN 'longer than 16 MiB' END AS reason
FROM (SELECT DISTINCT line, csv_line, error_type FROM reject_errors);

UPDATE records SET place = place + (SELECT count(*) FROM wrong w WHERE w.place - w.j < records.place)
WHERE place > (SELECT min(place - j) FROM wrong);

INSERT INTO records
SELECT place, line, reason, json, json_keys(json)
FROM (SELECT *, CASE WHEN reason IS NULL THEN TRY_CAST(line AS JSON) END AS json FROM wrong WHERE $repo IS NULL OR contains(lower(line), $repo));

DROP TABLE wrong;
DROP TABLE reject_errors;
DROP TABLE reject_scans;
