"""Measures the classifier: splits of gold labels, scores with intervals, learners that are compared."""
