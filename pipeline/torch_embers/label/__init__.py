"""Labels by hand: sheets of items out and in, checks of labelling rules."""
