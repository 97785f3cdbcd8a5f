-- What makes an item a report of wrong behaviour.
SELECT id AS "`signal`", "from" AS "read from", consequence AS "`consequence`", reason FROM (SELECT unnest(signal, recursive := true) FROM 'candidates.json')
