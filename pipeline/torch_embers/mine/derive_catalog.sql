-- What the catalog and readers say of items beyond their facts.

CREATE OR REPLACE TEMP TABLE derived_catalog AS
SELECT repo, number, summary, coalesce(backends, []) AS backends, coalesce(affected_versions, []) AS affected_versions,
       coalesce(fixed_versions, []) AS fixed_versions, try_cast(facts_as_of AS DATE) AS facts_as_of, source, fetched_at, page_id
FROM entries QUALIFY row_number() OVER (PARTITION BY repo, number ORDER BY sequence DESC) = 1;

CREATE OR REPLACE TEMP TABLE derived_gold_labels AS
WITH labels AS (
    SELECT repo, number, source, fetched_at, page_id, sequence, moment(facts_as_of) AS labelled_at, unnest(taxonomy, max_depth := 2)
    FROM entries
    UNION ALL BY NAME
    SELECT repo, number, source, fetched_at, page_id, sequence, moment(day) AS labelled_at, substr(question, length('label:') + 1) AS scheme,
           answer AS value, split_part(reader, ':', 1) AS annotator_kind, substr(reader, strpos(reader, ':') + 1) AS annotator,
           reason AS evidence
    FROM judged WHERE question <> 'disposition'
)
SELECT * EXCLUDE (sequence) FROM labels
QUALIFY row_number() OVER (PARTITION BY repo, number, scheme, value, annotator ORDER BY sequence DESC) = 1;

CREATE OR REPLACE TEMP TABLE derived_dispositions AS
SELECT repo, number, answer AS disposition, coalesce(facts.evidence, reason) AS evidence, facts.duplicate_of AS duplicate_of,
       facts.evidence_kind AS evidence_kind, facts.evidence_ref AS evidence_ref, try_cast(facts.evidence_date AS DATE) AS evidence_date,
       facts.confidence AS confidence, split_part(reader, ':', 1) AS annotator_kind,
       substr(reader, strpos(reader, ':') + 1) AS annotator, source, fetched_at, page_id
FROM judged WHERE question = 'disposition'
QUALIFY row_number() OVER (PARTITION BY repo, number, annotator ORDER BY sequence DESC) = 1;
