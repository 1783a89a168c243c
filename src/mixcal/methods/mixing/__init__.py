"""Mixing: pairs of rows to new rows."""
