"""Vectors of texts: the model and its weights, the quick graph, the cache in the store, search, tuning."""
