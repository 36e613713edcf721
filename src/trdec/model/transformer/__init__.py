"""Transformers (Vaswani et al., 2017): an encoder, a decoder of sequences and a decoder of trees.

All are pre-norm, know positions by rotation (Su et al., 2021), and are as wide as the embeddings.
"""
