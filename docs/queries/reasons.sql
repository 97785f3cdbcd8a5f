-- Why a report gives no script, or a commit, test or run gives nothing: the reasons of a file of data/.
SELECT id AS "`reason`", text AS "what it says", reason AS why FROM (SELECT unnest(reason, recursive := true) FROM read_json($file))
