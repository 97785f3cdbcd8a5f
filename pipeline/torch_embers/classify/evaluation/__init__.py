"""How good the labels are: splits, scores, baselines, published protocols, pictures."""
