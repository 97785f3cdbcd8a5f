-- Cases that occur on the newest release and that no known report describes.
SELECT "case" AS "`case`", since, k || '/' || n AS "k/n", processor, control_words AS control, seen AS "what was seen"
FROM newest JOIN cases ON cases.name = newest."case"
WHERE verdict = 'occurs' AND cases.case_hash NOT IN (SELECT case_hash FROM case_items) ORDER BY "case"
