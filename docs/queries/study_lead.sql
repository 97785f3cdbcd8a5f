-- Open issues with a case of the report's own input that is decided on the newest release, and how many of them ran clean.
SELECT count(*) AS issues, count(*) FILTER (gone) AS gone, any_value(build) AS newest,
  (SELECT string_agg(DISTINCT processor, ' and ' ORDER BY processor) FROM pairs WHERE kind = 'open' AND relation = 'same') AS processor
FROM (SELECT bool_and(verdict = 'absent') AS gone, bool_or(verdict = 'occurs') AS there, any_value(build) AS build
      FROM pairs WHERE kind = 'open' AND relation = 'same' AND verdict <> 'untestable' GROUP BY repo, number)
WHERE gone OR there
