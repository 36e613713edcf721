"""A trained model in use: lines of text in, translations with their trees out."""
