"""Words and pieces: lines of text, tokens, subwords. Nothing here needs torch."""
