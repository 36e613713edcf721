"""Everything that exists only for speed: the same network as the definitions, tested to be equal to them.

A decoder without a fast form (`form`) runs its definition. Axes beyond the definitions': N packed places (see
`plan`), W steps of the word RNN, M distinct rows of a table, K RNNs side by side.
"""
