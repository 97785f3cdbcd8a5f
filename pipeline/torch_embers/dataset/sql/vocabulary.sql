-- What do the words in the other tables mean? `words` comes from the files that define them (vocabulary.py).
SELECT word_of, word, parent, meaning, rule
FROM words
ORDER BY word_of, word, parent
