-- Every label has a class and a confidence. Labels are made again by `embers classify`: nothing is carried over.
DROP VIEW item_classes;
DROP TABLE predictions;
CREATE TABLE predictions (
    repo VARCHAR NOT NULL,
    number INTEGER NOT NULL,
    scheme VARCHAR NOT NULL,
    value VARCHAR NOT NULL,
    probability DOUBLE NOT NULL,
    confidence VARCHAR NOT NULL,
    provenance VARCHAR NOT NULL,
    model VARCHAR NOT NULL,
    text_hash VARCHAR NOT NULL,
    votes_hash VARCHAR NOT NULL,
    explanation VARCHAR,
    predicted_at TIMESTAMP NOT NULL
);
COMMENT ON TABLE predictions IS 'Labels of an item: one row per item and scheme that applies, and where any number of classes may hold, per class.';
COMMENT ON COLUMN predictions.repo IS 'Repository as owner/name.';
COMMENT ON COLUMN predictions.number IS 'Number of the issue or pull request in its repository.';
COMMENT ON COLUMN predictions.scheme IS 'Scheme of data/taxonomy.toml.';
COMMENT ON COLUMN predictions.value IS 'Class of that scheme.';
COMMENT ON COLUMN predictions.probability IS 'Calibrated probability that the label is right.';
COMMENT ON COLUMN predictions.confidence IS 'high, medium or low: how often labels like it were right on two samples (models/study-labels/README.md).';
COMMENT ON COLUMN predictions.provenance IS 'How it came about: model; out_of_fold where the item was in the training data and was left out for this; execution where a run showed it; only_class where the parent class has one.';
COMMENT ON COLUMN predictions.model IS 'Name and hash of the classifier.';
COMMENT ON COLUMN predictions.text_hash IS 'Hash of the text that was read: where it is the item''s current one, the label is current.';
COMMENT ON COLUMN predictions.votes_hash IS 'Hash of the weak labels of the item and of its content: where they change, the item is labelled again.';
COMMENT ON COLUMN predictions.explanation IS 'JSON: the words that spoke most for the label, with weights; NULL where no model decided.';
COMMENT ON COLUMN predictions.predicted_at IS 'When (UTC).';
COMMENT ON COLUMN model_texts.variant IS 'title, or text: the title with what is read of the body.';
CREATE VIEW item_classes AS
SELECT repo, number, list_sort(list(DISTINCT scheme || '=' || value)) AS classes,
    list_sort(list(DISTINCT scheme || '=' || value) FILTER (confidence IN ('medium', 'high'))) AS medium_classes,
    list_sort(list(DISTINCT scheme || '=' || value) FILTER (confidence = 'high')) AS high_classes
FROM (
    SELECT repo, number, scheme, value, 'high' AS confidence FROM gold_labels
    UNION ALL
    SELECT repo, number, scheme, value, confidence FROM predictions p
    WHERE NOT EXISTS (FROM gold_labels g WHERE g.repo = p.repo AND g.number = p.number AND g.scheme = p.scheme)
) GROUP BY ALL;
COMMENT ON VIEW item_classes IS 'Classes of each item as `scheme=value`: the gold labels of a scheme, else what the classifier says.';
