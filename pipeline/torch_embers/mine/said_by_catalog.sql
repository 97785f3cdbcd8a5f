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

CREATE OR REPLACE TEMP VIEW catalog_links AS
SELECT repo, pull AS number, 'fixes' AS relation, repo AS target_repo, number AS target_number, 'catalog' AS evidence,
       source, fetched_at, page_id, sequence
FROM (SELECT *, unnest(fix_prs) AS pull FROM entries) WHERE pull <> number
UNION ALL BY NAME
SELECT repo, number, other.relation AS relation, repo AS target_repo, other.number AS target_number, 'catalog' AS evidence,
       source, fetched_at, page_id, sequence
FROM (SELECT *, unnest(related) AS other FROM entries) WHERE other.number <> number;
