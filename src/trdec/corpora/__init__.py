"""Public corpora, parsers that add trees to a corpus, and the toy language."""
