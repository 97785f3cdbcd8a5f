"""How figures are drawn: one function for each kind of picture, all in the style of drawing.py."""
