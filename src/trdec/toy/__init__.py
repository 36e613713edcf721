"""A toy language: endless parallel text with gold trees, for tests, tutorials and demonstrations."""
