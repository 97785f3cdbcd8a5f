-- How many skips pass per release and test.
PIVOT (SELECT build AS release, place, test FROM skips WHERE kind = 'skip' AND state = 'passes') ON test USING count(*) GROUP BY release, place ORDER BY place
