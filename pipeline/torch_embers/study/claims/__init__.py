"""The claims of the paper: what it prints, our figure, a verdict, and whether the number can be right at all."""
