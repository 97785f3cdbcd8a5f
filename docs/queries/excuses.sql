-- Exceptions that speak of the script and not of PyTorch.
SELECT type AS "`exception`", message AS "`with the words`", reason AS "what it says" FROM (SELECT unnest(cannot_run, recursive := true) FROM 'verdicts.json')
