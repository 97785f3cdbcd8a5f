"""Mining: sources of tracker data, readers of raw pages, cursors, and the GitHub client."""
