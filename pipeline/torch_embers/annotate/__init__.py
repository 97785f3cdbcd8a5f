"""`embers data label`: sheets of items that people label, and checks of labelling rules."""
