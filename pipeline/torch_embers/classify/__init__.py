"""The room that labels items: the taxonomy, the text a model sees, embeddings, labels, models and their evaluation."""
