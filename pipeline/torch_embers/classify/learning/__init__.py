"""Learning with scikit-learn: the table that is read, the features, the classifier of one question, how it is kept."""
