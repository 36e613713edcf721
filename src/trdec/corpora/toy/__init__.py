"""The toy language Velu and its English: a corpus with true trees that any machine can make."""
