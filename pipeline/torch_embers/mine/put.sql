-- Objects of `came` into `raw`. One that is there already keeps one row, with the newest time of reading and place of arrival.
-- `put` has a row per object: `place` is its row of `arrived`, `times` how often it came.

CREATE OR REPLACE TEMP TABLE arrived AS
SELECT repo, kind, id, source, said_at::TIMESTAMP AS said_at, fetched_at::TIMESTAMP AS fetched_at,
       coalesce(sequence, (SELECT coalesce(max(sequence), 0) FROM raw) + row_number() OVER ()) AS sequence,
       md5(json_text) AS hash, json_text::JSON AS json
FROM came;

CREATE OR REPLACE TEMP TABLE put AS  -- without the objects: grouped with them, each would be copied
SELECT repo, kind, id, source, said_at, hash, max(sequence) AS sequence, max(fetched_at) AS fetched_at, min(place) AS place,
       count(place) AS times
FROM (
    SELECT repo, kind, id, source, said_at, hash, sequence, fetched_at, rowid AS place FROM arrived
    UNION ALL
    SELECT r.repo, r.kind, r.id, r.source, r.said_at, r.hash, r.sequence, r.fetched_at, NULL
    FROM raw r SEMI JOIN arrived a ON r.repo = a.repo AND r.kind = a.kind AND r.id = a.id AND r.source = a.source AND r.hash = a.hash
        AND r.said_at IS NOT DISTINCT FROM a.said_at
) GROUP BY ALL;

DELETE FROM raw USING put p
WHERE raw.repo = p.repo AND raw.kind = p.kind AND raw.id = p.id AND raw.source = p.source AND raw.hash = p.hash
  AND raw.said_at IS NOT DISTINCT FROM p.said_at;

INSERT INTO raw BY NAME
SELECT p.* EXCLUDE (place, times), a.json FROM arrived a JOIN put p ON p.place = a.rowid;

DROP TABLE arrived;
