-- What classification keeps: the texts that models read, their vectors, weak labels and predictions.
-- All of it is derived: emptying these tables loses time, not facts.
-- Uniqueness as in schema.sql: the only writer replaces rows by key inside one transaction.

CREATE TABLE model_texts (
    repo VARCHAR NOT NULL,
    number INTEGER NOT NULL,
    variant VARCHAR NOT NULL,
    rules VARCHAR NOT NULL,
    content_hash VARCHAR NOT NULL,
    text_hash VARCHAR NOT NULL
);
COMMENT ON TABLE model_texts IS 'Which text a model reads for an item: one row per item and variant, so that a run cleans only what changed.';
COMMENT ON COLUMN model_texts.repo IS 'Repository as owner/name.';
COMMENT ON COLUMN model_texts.number IS 'Number of the issue or pull request in its repository.';
COMMENT ON COLUMN model_texts.variant IS 'title, title_body or thread.';
COMMENT ON COLUMN model_texts.rules IS 'Hash of the cleaning rules that made the text.';
COMMENT ON COLUMN model_texts.content_hash IS 'Hash of what it was made from: items.content_hash, with the comments for variant thread.';
COMMENT ON COLUMN model_texts.text_hash IS 'Hash of the text; key of embeddings.';

CREATE TABLE embeddings (
    text_hash VARCHAR NOT NULL,
    model VARCHAR NOT NULL,
    vector FLOAT[384],
    wide FLOAT[]
);
COMMENT ON TABLE embeddings IS 'Vectors of length one, by text and model; equal texts share one. Exactly one of vector and wide is filled.';
COMMENT ON COLUMN embeddings.text_hash IS 'Hash of the text that was embedded.';
COMMENT ON COLUMN embeddings.model IS 'Model, weights and arithmetic; only vectors of the same model may be compared.';
COMMENT ON COLUMN embeddings.vector IS 'The vector where the model has 384 dimensions, as the default has: a fixed size makes search quicker.';
COMMENT ON COLUMN embeddings.wide IS 'The vector of a model with another number of dimensions.';

CREATE TABLE weak_labels (
    repo VARCHAR NOT NULL,
    number INTEGER NOT NULL,
    scheme VARCHAR NOT NULL,
    value VARCHAR NOT NULL,
    function VARCHAR NOT NULL,
    kind VARCHAR NOT NULL,
    evidence VARCHAR,
    labelled_at TIMESTAMP NOT NULL
);
COMMENT ON TABLE weak_labels IS 'Votes of labelling functions on an item: cheap, many, of known accuracy; never gold.';
COMMENT ON COLUMN weak_labels.repo IS 'Repository as owner/name.';
COMMENT ON COLUMN weak_labels.number IS 'Number of the issue or pull request in its repository.';
COMMENT ON COLUMN weak_labels.scheme IS 'Scheme of data/taxonomy.toml.';
COMMENT ON COLUMN weak_labels.value IS 'Class of that scheme.';
COMMENT ON COLUMN weak_labels.function IS 'The labelling function that voted.';
COMMENT ON COLUMN weak_labels.kind IS 'label (a maintainer''s triage label), keyword, or execution (what a run of a case showed).';
COMMENT ON COLUMN weak_labels.evidence IS 'What decided: the label, the matched words, the run.';
COMMENT ON COLUMN weak_labels.labelled_at IS 'When the function ran (UTC).';

CREATE TABLE predictions (
    repo VARCHAR NOT NULL,
    number INTEGER NOT NULL,
    scheme VARCHAR NOT NULL,
    value VARCHAR,
    likeliest VARCHAR NOT NULL,
    probability DOUBLE NOT NULL,
    abstained BOOLEAN NOT NULL,
    provenance VARCHAR NOT NULL,
    model VARCHAR NOT NULL,
    variant VARCHAR NOT NULL,
    text_hash VARCHAR NOT NULL,
    votes_hash VARCHAR NOT NULL,
    explanation VARCHAR,
    predicted_at TIMESTAMP NOT NULL
);
COMMENT ON TABLE predictions IS 'What is thought of an item: one row per item and scheme, and where any number of classes may hold, per class.';
COMMENT ON COLUMN predictions.repo IS 'Repository as owner/name.';
COMMENT ON COLUMN predictions.number IS 'Number of the issue or pull request in its repository.';
COMMENT ON COLUMN predictions.scheme IS 'Scheme of data/taxonomy.toml.';
COMMENT ON COLUMN predictions.value IS 'Class of that scheme; NULL where the model abstained.';
COMMENT ON COLUMN predictions.likeliest IS 'The class with the highest probability, also where the model abstained.';
COMMENT ON COLUMN predictions.probability IS 'Calibrated probability of the likeliest class.';
COMMENT ON COLUMN predictions.abstained IS 'Whether the probability was below the threshold for the stated precision.';
COMMENT ON COLUMN predictions.provenance IS 'How it came about: model; out_of_fold where the item was in the training data and was left out for this; either with +votes where labelling functions spoke; execution where a run showed it; only_class where the parent class has one.';
COMMENT ON COLUMN predictions.model IS 'Name, version and hash of the classifier.';
COMMENT ON COLUMN predictions.variant IS 'Text that was read: title, title_body or thread.';
COMMENT ON COLUMN predictions.text_hash IS 'Hash of that text: where it is the item''s current one, the prediction is current.';
COMMENT ON COLUMN predictions.votes_hash IS 'Hash of the weak labels of the item: where they change, the item is labelled again.';
COMMENT ON COLUMN predictions.explanation IS 'JSON for bug_type, memory_type and the like: strongest terms with weights, nearest labelled item; NULL elsewhere.';
COMMENT ON COLUMN predictions.predicted_at IS 'When (UTC).';
