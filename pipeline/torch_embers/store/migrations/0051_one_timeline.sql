-- Of each item one timeline is told, wherever it is told.

CREATE OR REPLACE VIEW current_timelines AS
WITH reached AS ( -- the newest release on which the script of the report, as its text gives it now, says anything
    SELECT *, provenance = 'own' AS is_own,
           max(CASE WHEN ending NOT IN ('lacks_api', 'cannot_run') THEN
               list_max([string_split(v, '.')::INTEGER[] FOR v IN versions IF regexp_full_match(v, '[0-9]+(\.[0-9]+)*')])
               END) OVER one AS newest,
           last_value(coalesce("match" = 'as_reported', false)) OVER (
               one ORDER BY place ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) AS occurs
    FROM timelines t
    WHERE NOT EXISTS (
        FROM scripts s WHERE s.repo = t.repo AND s.number = t.number
        AND s.script IS DISTINCT FROM t.script AND s.reason IS DISTINCT FROM 'not_mined')
    WINDOW one AS (PARTITION BY repo, number, script, environment, provenance)
)
SELECT * EXCLUDE (is_own, newest, occurs) FROM reached
QUALIFY dense_rank() OVER (
    PARTITION BY repo, number
    ORDER BY newest DESC NULLS LAST, is_own DESC, occurs DESC, decided_at DESC, environment, script) = 1;
COMMENT ON VIEW current_timelines IS 'Of each item the timeline of the script that its report gives now: the one that reaches the newest release, own before shipped, what occurs before what does not, then the newest.';
