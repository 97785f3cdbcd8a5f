"""Makes the encoder in models/: which pairs of texts it learns from, the training, and the graph that is shipped."""
