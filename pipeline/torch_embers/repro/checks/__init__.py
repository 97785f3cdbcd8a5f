"""Rules for whoever writes a case, read from its syntax tree: no case is run."""
