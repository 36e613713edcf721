"""Translations as pictures: the tree with the attention of its words, and heatmaps of whole derivations.

Nothing here needs torch, or anything but the standard library and what draws trees.
"""
