-- Doubts about cases, a row a doubt. tools/case_flags.py makes the tables: cases, pairs, verdicts, releases, catalog, uncovered, unmeasured,
-- judgements.

CREATE TEMP VIEW closings AS
FROM judgements WHERE question = 'disposition' QUALIFY row_number() OVER (PARTITION BY item ORDER BY day DESC, reader DESC) = 1;

CREATE TEMP VIEW decided AS
SELECT name, release, verdict, released FROM verdicts JOIN releases USING (release)
WHERE verdict IN ('occurs', 'absent', 'not_seen', 'changed');

-- Numbers are given out in order of time: an unknown item was opened between its known neighbours.
CREATE TEMP VIEW asked AS
SELECT p.*, c.fixed_in, coalesce(before.opened, DATE '0001-01-01') AS earliest, coalesce(after.opened, DATE '9999-12-31') AS latest, i.kind, i.state,
  r.answer, r.decides, coalesce(r.thread_read, 'no') AS thread_read, d.answer AS disposition,
  d.facts ->> 'evidence_kind' AS evidence_kind, d.facts ->> 'evidence_ref' AS evidence_ref, d.facts ->> 'evidence_date' AS evidence_date
FROM pairs p JOIN cases c USING (name)
  ASOF LEFT JOIN (FROM catalog WHERE opened IS NOT NULL) before ON p.number >= before.number
  ASOF LEFT JOIN (FROM catalog WHERE opened IS NOT NULL) after ON p.number <= after.number
  LEFT JOIN catalog i ON i.number = p.number
  LEFT JOIN (FROM case_readings WHERE is_newest) r ON r."case" = p.name AND r.number = p.number
  LEFT JOIN closings d ON d.item = p.number;

CREATE TEMP VIEW flags AS

-- `fixed_in` was out before the item was reported: the case shows another bug
SELECT 'fixed_before_report' AS flag, name AS "case", number AS item, format('fixed in {} of {}, reported {}', fixed_in, released, earliest) AS detail
FROM asked JOIN releases ON release = fixed_in WHERE released < earliest AND name IN (SELECT name FROM decided)

-- no release that was out when the item was reported shows the bug; a report older than all releases is held against the oldest
UNION ALL SELECT 'never_red', name, number, 'was not seen on any release up to ' || arg_max(release, d.released) FROM asked JOIN decided d USING (name)
WHERE d.released <= greatest(latest, (SELECT min(released) FROM decided o WHERE o.name = d.name))
GROUP BY name, number HAVING NOT bool_or(verdict = 'occurs')

-- no release of the matrix could test the case
UNION ALL SELECT 'never_tested', name, 0, CASE count(release) WHEN 0 THEN 'no verdict: run it and add its verdicts (docs/cases.md, "Adding a case")'
    ELSE format('untestable on {} releases', count(release)) END
FROM cases LEFT JOIN verdicts USING (name) WHERE cases.kind = 'bug' AND name NOT IN (SELECT name FROM decided) GROUP BY name

-- every item is a pull request: nobody reported a defect
UNION ALL SELECT 'only_pull_requests', name, 0, string_agg('#' || number, ', ' ORDER BY number) FROM asked
WHERE name IN (SELECT name FROM cases WHERE kind = 'bug') GROUP BY name HAVING bool_and(coalesce(kind, '') = 'pull')

-- a reader says that its runs do not speak of the item, and its relation is `same`, which counts them
UNION ALL SELECT 'set_aside', name, number, 'a reader set it aside, and its relation is same' FROM asked
WHERE NOT decides AND relation = 'same' AND name IN (SELECT name FROM decided)

-- called closed as fixed and still there, and a part of the evidence is missing
UNION ALL SELECT 'headline_evidence', name, number, 'without its evidence, or a second reader who calls it faithful' FROM asked JOIN decided d USING (name)
WHERE d.released = (SELECT max(released) FROM decided) AND verdict = 'occurs' AND relation = 'same' AND state = 'closed' AND disposition = 'fixed'
  AND (evidence_kind IS NULL OR evidence_ref IS NULL OR evidence_date IS NULL OR answer IS DISTINCT FROM 'faithful')

-- its relation is `same`, and the newest reader saw nothing of the thread
UNION ALL SELECT 'not_read', name, number, 'its relation is same, and its reader saw nothing of the thread' FROM asked
WHERE relation = 'same' AND thread_read = 'no' AND name IN (SELECT name FROM cases WHERE kind = 'bug')

-- a case file and its newest reader differ; where that reader says `none`, no case of the name may name the item
UNION ALL SELECT 'other_relation', coalesce(p.name, r."case"), coalesce(p.number, r.number), format('{}, and {}',
    coalesce('the case says ' || p.relation, 'no case of this name states a relation to this item'),
    coalesce(format('data/judgements.jsonl, line {}, says {}', r.line, r.relation), 'data/judgements.jsonl has no reading of both'))
FROM pairs p FULL JOIN (SELECT * REPLACE (coalesce(relation, 'nothing') AS relation) FROM case_readings WHERE is_newest) r
  ON r."case" = p.name AND r.number = p.number
WHERE coalesce(p.relation, 'none') <> coalesce(r.relation, 'none')
  AND (r.line IS NOT NULL OR p.name IN (SELECT name FROM cases WHERE kind = 'bug'))

-- a closed issue of the catalog has the case, and nobody says why it was closed
UNION ALL SELECT 'no_disposition', name, number, 'closed, and data/judgements.jsonl does not say why' FROM asked
WHERE state = 'closed' AND kind = 'issue' AND disposition IS NULL

-- an item about performance has neither a case nor a reason in data/cases/unmeasured.toml, or both
UNION ALL SELECT 'no_times', '', number, 'data/cases/unmeasured.toml says why it has no case, and it has one'
FROM unmeasured WHERE number IN (SELECT number FROM pairs)
UNION ALL SELECT 'no_times', '', coalesce(c.number, u.number), 'its consequence is performance, or data/cases/unmeasured.toml names it: one without the other'
FROM (FROM catalog WHERE is_slow) c FULL JOIN unmeasured u USING (number)
WHERE (c.number IS NULL OR u.number IS NULL) AND coalesce(c.number, u.number) NOT IN (SELECT number FROM pairs)

-- somebody says why an issue was closed, and neither a case nor data/cases/uncovered.toml names it
UNION ALL SELECT 'no_case', '', item, format('closed as {}, and no case names it', answer) FROM closings
WHERE item NOT IN (SELECT number FROM pairs UNION ALL SELECT number FROM uncovered);
