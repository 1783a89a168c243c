"""Semi-supervised algorithms: pseudo-labels and their weights."""
