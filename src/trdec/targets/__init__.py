"""How a tree is written as actions and read back, one file a family. Nothing here needs torch."""
