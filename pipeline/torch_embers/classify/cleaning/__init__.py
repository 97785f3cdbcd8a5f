"""Text cleaning: untrusted Markdown to the words that describe a bug."""
