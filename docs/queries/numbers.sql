-- Numbers of one table of a file of data/, each with its reason: the key of the same name that ends in `_reason`.
SELECT each.key AS "`number`", each.value ->> '$' AS value, of_file.json -> $section ->> (each.key || '_reason') AS why
FROM read_json_objects($file, format = 'unstructured') AS of_file, json_each(of_file.json -> $section) AS each
WHERE each.key NOT LIKE '%\_reason' ESCAPE '\'
