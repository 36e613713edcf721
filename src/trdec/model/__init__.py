"""The network (paper, section 3): encoder, attention, the two decoders and the masked softmax.

Axes: B sentences, R rows (hypotheses, grouped by sentence), S source, T steps, A actions, Y symbols,
E embedding, H hidden, C context, F features.
"""
