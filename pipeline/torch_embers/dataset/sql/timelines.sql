-- What does the script of each report do on which builds? One timeline a report, that reaches the newest release; own before shipped.
SELECT
    repo, number, script, environment, device, place, versions, ending, file_names(what) AS what,
    runs, confirmed, match, flip, at_fix, decided_at, provenance
FROM current_timelines
ANTI JOIN gone USING (repo, number)
ORDER BY repo, number, place
