-- What does the database hold that is not published? Scripts that came with code of others and those of the user apart.
SELECT 'items that the tracker no longer shows' AS what, (SELECT count(*) FROM gone) AS rows
UNION ALL SELECT 'tests of merged fixes, as cases (`fix_test`)', (SELECT count(*) FROM cases WHERE current AND origin = 'fix_test')
UNION ALL SELECT 'cases of the user (`own`)', (SELECT count(*) FROM cases WHERE current AND origin = 'own')
UNION ALL SELECT 'other cases that were not written by hand',
    (SELECT count(*) FROM cases WHERE current AND origin NOT IN ('curated', 'fix_test', 'own'))
UNION ALL SELECT 'earlier texts of cases by hand', (SELECT count(*) FROM cases WHERE NOT current AND origin = 'curated')
UNION ALL SELECT 'newest verdicts of tests of merged fixes', (SELECT count(*) FROM unpublished WHERE origin = 'fix_test')
UNION ALL SELECT 'newest verdicts of cases of the user', (SELECT count(*) FROM unpublished WHERE origin = 'own')
UNION ALL SELECT 'newest verdicts of the other cases and earlier texts',
    (SELECT count(*) FROM unpublished WHERE origin NOT IN ('fix_test', 'own'))
