-- Which items share the rarest words with a query? Okapi BM25 (Robertson and Zaragoza 2009) over title and body, counted when asked:
-- splitting a hundred megabytes of text takes seconds, so no index has to be kept and renewed. A name like conv_transpose2d counts whole,
-- too, besides its parts: who writes it means this one function, and its parts stand in many others. It counts wherever its letters stand,
-- also inside a longer name.
-- Parameters: $words, the words of the query in lower case, each once; $names, its names with underscores; $rarity, the power of a word's
-- rarity; $repo, '' for all repositories, which also bounds the items that are counted; $everything, or else only the items of $among, as
-- owner/name#number; $but, one item to leave out; $depth, rows at most.
WITH texts AS (
    SELECT repo, number, coalesce(title, '') AS title,
           repeat(lower(coalesce(title, '')) || ' ', $weight_of_title) || lower(left(coalesce(body, ''), $body_chars)) AS text
    FROM items WHERE $repo IN ('', repo)
), split AS (
    SELECT repo, number, title, regexp_extract_all(text, '[\p{L}\p{N}]+') AS words,
           list_transform(list_filter($names::VARCHAR[], lambda name: contains(text, name)),
                          lambda name: {'word': name, 'times': len(string_split(text, name)) - 1}) AS names
    FROM texts
), counted AS MATERIALIZED (
    SELECT repo, number, title, len(words) AS length, names,
           list_filter(words, lambda word: list_contains($words, word)) AS hits
    FROM split
), whole AS (
    SELECT count(*) AS items, avg(length) AS length FROM counted
), frequency AS MATERIALIZED (
    SELECT repo, number, any_value(title) AS title, any_value(length) AS length, word, count(*) AS times
    FROM (SELECT repo, number, title, length, unnest(hits) AS word FROM counted) GROUP BY repo, number, word
    UNION ALL
    SELECT repo, number, title, length, name.word, name.times
    FROM (SELECT repo, number, title, length, unnest(names) AS name FROM counted)
), rarity AS (
    SELECT word, pow(ln(1 + (any_value(whole.items) - count(*) + 0.5) / (count(*) + 0.5)), $rarity) AS weight
    FROM frequency, whole GROUP BY word
)
SELECT repo, number, any_value(title) AS title,
       sum(weight * times * ($saturation + 1)
           / (times + $saturation * (1 - $length + $length * frequency.length / whole.length))) AS score
FROM frequency JOIN rarity USING (word), whole
WHERE ($everything OR repo || '#' || number IN (SELECT unnest($among))) AND repo || '#' || number <> $but
GROUP BY repo, number
ORDER BY score DESC, repo, number
LIMIT $depth
