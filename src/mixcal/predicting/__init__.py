"""A network and inputs to predictions."""
