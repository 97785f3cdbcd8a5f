"""Vectors of texts: encoders, the cache in the store, search."""
