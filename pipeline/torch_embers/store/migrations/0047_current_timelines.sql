-- What is told of a report: not what a script did that its text no longer gives.

CREATE VIEW current_timelines AS
FROM timelines
WHERE NOT EXISTS (
    FROM scripts s WHERE s.repo = timelines.repo AND s.number = timelines.number
    AND s.script IS DISTINCT FROM timelines.script AND s.reason IS DISTINCT FROM 'not_mined')
QUALIFY provenance = 'own' OR NOT bool_or(provenance = 'own') OVER (PARTITION BY repo, number);
COMMENT ON VIEW current_timelines IS 'Timelines of the script that each report gives now; own ones go before shipped ones.';
