"""Training: a loop that knows no model and no data by name, and what it writes beside the weights."""
