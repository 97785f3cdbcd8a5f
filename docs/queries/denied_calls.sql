-- System calls that a run may not make; data/sandbox.toml has the reasons.
SELECT list('`' || call || '`') AS calls FROM (SELECT unnest(json_keys(seccomp -> 'denied')) AS call FROM (SELECT seccomp::JSON AS seccomp FROM 'sandbox.json'))
