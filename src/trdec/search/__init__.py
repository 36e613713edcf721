"""Search over derivations: one beam search, and sampling, for every system.

Axes: B sentences, R rows (hypotheses, grouped by sentence), K hypotheses of a sentence, A actions,
Y symbols, M measures (see `frontiers`), T steps, S source.
"""
