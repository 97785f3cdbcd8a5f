-- System calls of which a run may use some arguments alone; data/sandbox.toml has the reasons.
SELECT list('`' || call || '`') AS calls FROM (
    SELECT unnest(from_json(entry -> 'calls', '["VARCHAR"]')) AS call
    FROM (SELECT unnest(from_json(seccomp::JSON -> 'checked', '["JSON"]')) AS entry FROM 'sandbox.json')
)
