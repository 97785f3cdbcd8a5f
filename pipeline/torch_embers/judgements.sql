-- What readers say of a case beside an item, a row a reading that was not blind; the newest one counts. A reader who gives only a relation is
-- unsure of the rest.
CREATE TEMP VIEW case_readings AS
SELECT substr(subject, length('case:') + 1) AS "case", item AS number,
  coalesce(max(answer) FILTER (question = 'faithful'), 'unsure') AS answer, max(answer) FILTER (question = 'relation') AS relation,
  arg_min(reason, question) AS reason, coalesce(max(facts ->> 'other_cause'), '') AS doubt,
  coalesce(bool_and((facts -> 'decides')::BOOLEAN), true) AS decides,
  coalesce(max(facts ->> 'thread_read'), 'no') AS thread_read, reader, day, max(rowid) + 1 AS line,
  row_number() OVER (PARTITION BY subject, item ORDER BY day DESC, reader DESC) = 1 AS is_newest
FROM judgements WHERE question IN ('faithful', 'relation') AND NOT blind GROUP BY subject, item, reader, day;

-- Which failures of fix tests show the bug: one answer a test and question, `unclear` where readers differ.
-- Of a reader the newest answer counts; answers that rest on a run (`by_run`) settle what readings left open.
CREATE TEMP VIEW fix_test_answers AS
WITH newest AS (
  SELECT *, facts ->> 'by_run' AS by_run FROM judgements WHERE question IN ('shows_bug', 'shows_bug_again')
  QUALIFY row_number() OVER (PARTITION BY subject, question, reader ORDER BY day DESC NULLS LAST) = 1
), counted AS (
  SELECT * FROM newest QUALIFY by_run IS NOT NULL OR count(by_run) OVER (PARTITION BY subject, question) = 0
)
SELECT substr(subject, length('fix_test:') + 1) AS name, question,
  CASE count(DISTINCT answer) WHEN 1 THEN any_value(answer) ELSE 'unclear' END AS answer
FROM counted GROUP BY ALL;

-- What readers say of the script of a report, of the script whose hash they wrote down: a row for each release of which a match is said,
-- the latest word last. Of each question, of a match on each release, the newest answer counts, of one day the one that was written last.
CREATE TEMP VIEW script_readings AS
WITH newest AS (
  SELECT *, rowid AS line, facts ->> 'script' AS script, CASE question WHEN 'match' THEN facts ->> 'version' END AS version FROM judgements
  WHERE question IN ('right_script', 'match', 'script_relation') AND facts ->> 'script' IS NOT NULL
  QUALIFY row_number() OVER (PARTITION BY item, script, question, version ORDER BY day DESC, line DESC) = 1
), of_script AS (
  SELECT item, script, max(answer) FILTER (question = 'right_script') AS right_script,
    max(answer) FILTER (question = 'script_relation') AS relation, arg_max(reader, day) AS reader, max(day) AS day
  FROM newest GROUP BY item, script
)
SELECT s.item AS number, s.script, coalesce(m.version, '') AS version, coalesce(s.right_script, '') AS right_script,
  coalesce(m.answer, '') AS match, coalesce(s.relation, '') AS relation, coalesce(m.reader, s.reader) AS reader, coalesce(m.day, s.day) AS day
FROM of_script s LEFT JOIN (FROM newest WHERE question = 'match') m USING (item, script)
ORDER BY s.item, s.script, m.day, m.line;

-- What readers of titles and bodies say (data/body_labels.csv), a row an answer as in `judgements`; `decided` is no reader.
CREATE TEMP VIEW label_readings AS
WITH said AS (
  UNPIVOT (SELECT number::BIGINT AS item, readers, sure, bug_type, memory_type, memory_subtype, consequence FROM body_labels WHERE kind = 'issue')
  ON bug_type, memory_type, memory_subtype, consequence INTO NAME scheme VALUE answer
), apart AS (SELECT * EXCLUDE (readers), unnest(string_split(readers, '+')) AS who FROM said)
SELECT 'item:' || item AS subject, 'label:' || scheme AS question, item, answer, 'automated:embers-reader-' || who AS reader,
  true AS blind, sure = '1' AS sure
FROM apart WHERE who <> 'decided';
