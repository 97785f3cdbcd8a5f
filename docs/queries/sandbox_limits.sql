-- Limits of the sandbox; data/sandbox.toml has the reasons. Amounts of memory are in bytes.
SELECT each.key AS "`limit`", each.value ->> '$' AS value FROM (SELECT limits::JSON AS limits FROM 'sandbox.json') AS of_file, json_each(of_file.limits) AS each
