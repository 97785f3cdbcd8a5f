-- The widest sample: everything, open or closed, issue or pull request, that reports wrong behaviour in the data path (data/candidates.toml)
-- until the end of the time. {where} is that condition.
INSERT INTO study_sample
SELECT 'candidates', repo, number, kind, state, state_reason, reported_at, dated, closed_at
FROM study_items
WHERE {where} AND reported_at >= (SELECT first_day FROM study_time) AND reported_at < (SELECT before_day FROM study_time);

INSERT INTO study_sample_patches
SELECT 'candidates', p.repo, p.number, p.patch, p.sha, p.patched_at
FROM study_patches p SEMI JOIN (FROM study_sample WHERE sample = 'candidates') c USING (repo, number);
