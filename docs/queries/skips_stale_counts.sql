-- How many skips pass per release and test.
SELECT * EXCLUDE (place) FROM (
  PIVOT (SELECT build AS release, place, test FROM skips WHERE kind = 'skip' AND state = 'passes') ON test USING count(*) GROUP BY release, place
) ORDER BY list_transform(string_split(release, '.'), lambda part: part::INT)
