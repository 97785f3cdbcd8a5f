-- The stages of the funnel, with the study's counts; each adds a condition to those above.
SELECT name AS "`name`", study, "where" AS "`condition`", reason AS "what is counted" FROM (SELECT unnest(stage, recursive := true) FROM 'candidates.json')
