-- Every key that `--json` prints, by command; `object` names the object inside that has it.
SELECT command AS "`command`", object AS "`object`", key AS "`key`", meaning FROM 'docs/json-keys.csv'
