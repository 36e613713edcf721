"""Text in, numbers out: scores, significance, lengths and comparisons of translations, without any model."""
