"""The room that brings the tracker in: sources, readers, cursors."""
