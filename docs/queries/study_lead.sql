-- Open issues with a case of the report's own input that is decided on the newest release, and how many of them ran clean.
SELECT count(DISTINCT number) AS issues, count(DISTINCT number) FILTER (is_gone) AS gone, any_value(build) AS newest, any_value(processor) AS processor
FROM (SELECT *, bool_and(verdict = 'absent') OVER (PARTITION BY repo, number) AS is_gone FROM pairs
      WHERE kind = 'open' AND relation = 'same' AND verdict IN ('occurs', 'absent'))
