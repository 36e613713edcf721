"""Public corpora: where they are, getting them over a network that may fail, and unpacking them with care."""
