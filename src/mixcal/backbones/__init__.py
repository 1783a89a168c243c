"""Inputs to activations: the networks of the papers, a small one for CPUs, and other people's."""
