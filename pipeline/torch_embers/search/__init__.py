"""Search: the items that are nearest to an item or to some words, by meaning and by words together."""
