"""Labels for items: text cleaning, embeddings, weak and gold labels, training, prediction, explanation."""
