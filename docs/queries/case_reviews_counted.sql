-- Pairs of a case and an item by the answer of their newest reader.
SELECT answer, relation, count(*) AS pairs FROM case_readings WHERE is_newest GROUP BY ALL ORDER BY ALL
