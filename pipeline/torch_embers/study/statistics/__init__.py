"""Statistics that the study uses: pure functions on plain numbers."""
