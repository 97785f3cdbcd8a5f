"""What decides that behaviour is wrong. Runs inside builds too: standard library and torch only, Python 3.8 syntax."""
