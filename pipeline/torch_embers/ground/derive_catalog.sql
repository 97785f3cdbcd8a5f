-- What the embedded catalog and readers say of items beyond their facts: summaries, taxonomy labels, dispositions.

CREATE OR REPLACE TEMP VIEW entries AS
SELECT repo, split_part(id, '/', 1)::INTEGER AS number, source, fetched_at, hash AS page_id, sequence,
       unnest(json_transform(json, '{
           "summary": "VARCHAR", "backends": ["VARCHAR"], "affected_versions": ["VARCHAR"], "fixed_versions": ["VARCHAR"],
           "facts_as_of": "VARCHAR", "fix_prs": ["INTEGER"], "related": [{"number": "INTEGER", "relation": "VARCHAR"}],
           "taxonomy": [{"scheme": "VARCHAR", "value": "VARCHAR", "annotator_kind": "VARCHAR", "annotator": "VARCHAR",
                         "evidence": "VARCHAR"}]}'))
FROM concerned WHERE kind = 'item' AND source = 'catalog';

CREATE OR REPLACE TEMP VIEW judged AS
SELECT repo, split_part(id, '/', 1)::INTEGER AS number, source, fetched_at, hash AS page_id, sequence,
       unnest(json_transform(json, '{
           "question": "VARCHAR", "answer": "VARCHAR", "reader": "VARCHAR", "day": "VARCHAR", "reason": "VARCHAR",
           "facts": {"duplicate_of": "INTEGER", "evidence": "VARCHAR", "evidence_kind": "VARCHAR", "evidence_ref": "VARCHAR",
                     "evidence_date": "VARCHAR", "confidence": "DOUBLE"}}'))
FROM concerned WHERE kind = 'judgement';

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

CREATE OR REPLACE TEMP VIEW catalog_links AS
SELECT repo, pull AS number, 'fixes' AS relation, repo AS target_repo, number AS target_number, 'catalog' AS evidence,
       source, fetched_at, page_id, sequence
FROM (SELECT *, unnest(fix_prs) AS pull FROM entries) WHERE pull <> number
UNION ALL BY NAME
SELECT repo, number, other.relation AS relation, repo AS target_repo, other.number AS target_number, 'catalog' AS evidence,
       source, fetched_at, page_id, sequence
FROM (SELECT *, unnest(related) AS other FROM entries) WHERE other.number <> number;
