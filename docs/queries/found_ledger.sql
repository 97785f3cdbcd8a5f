-- What became of each finding of data/hunt_drafts.toml.
WITH draft AS (SELECT unnest(draft, recursive := true) FROM 'hunt_drafts.json')
SELECT "case" AS "`case`", looked_up AS "earlier reports", became AS report FROM draft
