-- Which items share the rarest words with a query? Okapi BM25 (Robertson and Zaragoza 2009) over title and body, counted when asked:
-- splitting a hundred megabytes of text takes seconds, so no index has to be kept and renewed. A name like conv_transpose2d counts whole,
-- too, besides its parts: who writes it means this one function, and its parts stand in many others. It counts wherever its letters stand,
-- also inside a longer name.
-- Parameters: $words, the words of the query in lower case, each once; $names, its names with underscores; $rarity, the power of a word's
-- rarity; $repo, '' for all repositories, which also bounds the items that are counted; $everything, or else only the items of $among, as
-- owner/name#number; $but, one item to leave out; $depth, rows at most.
WITH texts AS MATERIALIZED (
    SELECT rowid AS id, unnest([lower(coalesce(title, '')), lower(left(coalesce(body, ''), $body_chars))]) AS text, unnest([$weight_of_title, 1]) AS weight
    FROM items WHERE $repo IN ('', repo)
), counted AS MATERIALIZED ( -- how often each word of the query stands in each item, and under NULL how many other words; of no words one row with 0
    SELECT id, asked.word, sum(CASE WHEN found.word <> '' THEN weight ELSE 0 END) AS times
    -- blanks stay: to look for what is no word finds much less than to look for words
    FROM (SELECT id, weight, unnest(string_split(regexp_replace(text, '[^\p{L}\p{N} ]+', ' ', 'g'), ' ')) AS word FROM texts) found
    LEFT JOIN (SELECT unnest($words::VARCHAR[]) AS word) asked ON asked.word = found.word
    GROUP BY ALL
), lengths AS (
    SELECT id, sum(times) AS length FROM counted GROUP BY ALL
), whole AS (
    SELECT count(*) AS items, avg(length) AS length FROM lengths
), frequency AS MATERIALIZED (
    SELECT id, word, times FROM counted WHERE word IS NOT NULL
    UNION ALL
    SELECT id, name, sum(weight * (len(string_split(text, name)) - 1))
    FROM texts, unnest($names::VARCHAR[]) AS n(name) WHERE contains(text, name) GROUP BY ALL
), rarity AS (
    SELECT word, pow(ln(1 + (any_value(whole.items) - count(*) + 0.5) / (count(*) + 0.5)), $rarity) AS weight
    FROM frequency, whole GROUP BY word
), scored AS (
    SELECT id, sum(weight * times * ($saturation + 1)
                   / (times + $saturation * (1 - $length + $length * lengths.length / whole.length))) AS score
    FROM frequency JOIN lengths USING (id) JOIN rarity USING (word), whole GROUP BY id
)
SELECT repo, number, coalesce(title, '') AS title, score
FROM scored JOIN items ON items.rowid = id
WHERE ($everything OR repo || '#' || number IN (SELECT unnest($among))) AND repo || '#' || number <> $but
-- a sum of floats depends on the order of its parts, which threads change
ORDER BY round(score, 9) DESC, repo, number
LIMIT $depth
