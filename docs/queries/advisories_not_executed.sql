-- Advisories that no case runs, with the reason.
SELECT {text: id, url: source} AS advisory, reason AS "why it was not executed" FROM (SELECT unnest(not_executed, recursive := true) FROM 'advisories.json')
