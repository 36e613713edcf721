"""Examples and tensors: what the network is trained on."""
