"""Fuzzing: generated input, good and bad, to which trdec may answer only with a result or with an error of its own."""
