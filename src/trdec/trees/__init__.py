"""What a target tree is, how it is built, read, transformed and drawn. Nothing here needs torch."""
