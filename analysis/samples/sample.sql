-- What this span of time adds to the samples: its patched bugs, which is how the study counts, and the stages before them.
INSERT INTO study_sample
SELECT $sample, repo, number, kind, state, state_reason, reported_at, dated, closed_at FROM study_patched;

INSERT INTO study_sample_patches
SELECT $sample, p.repo, p.number, p.patch, p.sha, p.patched_at FROM study_patches p SEMI JOIN study_patched USING (repo, number);

INSERT INTO study_stages
SELECT $sample, 'closed issues of the data path', count(*) FROM study_closed
UNION ALL SELECT $sample, 'reporting a bug', count(*) FROM study_bugs
UNION ALL SELECT $sample, 'patched', count(*) FROM study_patched;
