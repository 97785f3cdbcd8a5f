-- What does the script of each report do on which builds? One timeline a report, that reaches the newest release; own before shipped.
SELECT t.repo, t.number, i.title, i.state, t.script, t.environment, t.device, t.place, t.versions, t.ending, t.what, t.shown,
       t.runs, t.confirmed, t.match, t.evidence, t.flip, t.at_fix, t.provenance, t.decided_at
FROM current_timelines t
LEFT JOIN items i USING (repo, number)
ORDER BY t.repo, t.number, t.place
