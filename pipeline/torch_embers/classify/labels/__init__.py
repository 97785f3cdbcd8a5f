"""Gold labels by named annotators, votes of labelling functions, and the accuracy of both."""
