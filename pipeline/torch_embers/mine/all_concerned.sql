-- Every raw row, and every item that has one or a derived row. A part whose id names no item is a reject.

CREATE OR REPLACE TEMP VIEW concerned AS FROM raw WHERE kind = 'commit' OR try_cast(split_part(id, '/', 1) AS INTEGER) > 0;

CREATE OR REPLACE TEMP TABLE touched AS
SELECT DISTINCT repo, split_part(id, '/', 1)::INTEGER AS number FROM concerned WHERE kind <> 'commit'
UNION SELECT repo, number FROM items
UNION SELECT repo, number FROM stated_links;

DELETE FROM rejects WHERE reason = 'an object without its item';

INSERT INTO rejects BY NAME
SELECT source, repo || ' ' || kind || ' ' || id AS origin, 'an object without its item' AS reason, left(json::VARCHAR, 2000) AS raw, fetched_at
FROM raw WHERE kind <> 'commit' AND coalesce(try_cast(split_part(id, '/', 1) AS INTEGER), 0) <= 0;
