"""Cases: standalone scripts that show a bug, written by hand or made of a test of a fix."""
