"""Where labels come from: gold by named annotators, votes of labelling functions, and how far both can be believed."""
