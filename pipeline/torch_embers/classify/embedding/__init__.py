"""Vectors of texts: models and weights, the prepared graph, the cache in the store, search."""
