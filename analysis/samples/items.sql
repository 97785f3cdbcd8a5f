-- Every issue and pull request of the studied repository with its columns of the view judged_items and its date, kept once, because
-- the views read all titles and bodies.
CREATE OR REPLACE TEMP TABLE study_items AS
SELECT j.*, d.reported_at, coalesce(d.dated, false) AS dated
FROM judged_items j LEFT JOIN study_dates d USING (repo, number)
WHERE j.repo = (SELECT repo FROM study_repository);

-- One label for each item and scheme: people before the paper before automated annotators, then the majority.
-- Predictions of the classifier are no labels: what rests on them needs correction (analysis/tables/prevalence.sql).
CREATE OR REPLACE TEMP TABLE study_labels AS
SELECT repo, number, scheme, value
FROM (
    SELECT repo, number, scheme, value, count(*) AS votes,
           min(CASE annotator_kind WHEN 'human' THEN 0 WHEN 'paper' THEN 1 ELSE 2 END) AS place
    FROM gold_labels GROUP BY ALL
)
QUALIFY row_number() OVER (PARTITION BY repo, number, scheme ORDER BY place, votes DESC, value) = 1;

-- Which backend does it show on? Stated by the catalog or by a maintainers' label (study_backend_labels, from data/labelling.toml); any
-- number may hold.
CREATE OR REPLACE TEMP TABLE study_backends AS
SELECT repo, number, unnest(backends) AS backend FROM catalog
UNION
SELECT j.repo, j.number, b.backend
FROM (SELECT repo, number, unnest(label_names) AS label FROM study_items) j JOIN study_backend_labels b ON b.label = lower(j.label);
