"""Cases: standalone scripts that show a bug, written by hand or extracted from an issue."""
