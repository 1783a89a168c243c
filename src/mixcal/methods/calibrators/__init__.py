"""Calibrators: small changes to training that make confidence right."""
