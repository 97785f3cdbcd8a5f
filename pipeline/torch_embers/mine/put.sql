-- Objects of `came` into `raw`. One that is there already keeps one row, with the newest time of reading and place of arrival.

CREATE OR REPLACE TEMP TABLE put AS
WITH numbered AS (
    SELECT repo, kind, id, source, said_at::TIMESTAMP AS said_at, fetched_at::TIMESTAMP AS fetched_at,
           coalesce(sequence, (SELECT coalesce(max(sequence), 0) FROM raw) + row_number() OVER ()) AS sequence,
           md5(json_text) AS hash, json_text::JSON AS json
    FROM came
), known AS (
    FROM numbered
    UNION ALL BY NAME
    SELECT r.* FROM raw r SEMI JOIN numbered n ON r.repo = n.repo AND r.kind = n.kind AND r.id = n.id AND r.source = n.source
        AND r.hash = n.hash AND r.said_at IS NOT DISTINCT FROM n.said_at
)
SELECT repo, kind, id, source, said_at, max(sequence) AS sequence, max(fetched_at) AS fetched_at, hash, any_value(json) AS json
FROM known GROUP BY repo, kind, id, source, said_at, hash;

DELETE FROM raw USING put p
WHERE raw.repo = p.repo AND raw.kind = p.kind AND raw.id = p.id AND raw.source = p.source AND raw.hash = p.hash
  AND raw.said_at IS NOT DISTINCT FROM p.said_at;

INSERT INTO raw BY NAME FROM put ORDER BY sequence;

DROP TABLE put;
