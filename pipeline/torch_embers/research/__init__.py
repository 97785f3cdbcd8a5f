"""Results of their own: the census of silent-correctness issues, and the skip lists inside builds."""
