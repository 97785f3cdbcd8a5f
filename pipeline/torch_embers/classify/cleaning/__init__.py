"""From Markdown of strangers to the words that tell one bug from another: rules, blocks, one pass over the lines."""
