"""Readers of data sets, one file a format. `open_source` in catalog.py finds them by name."""
