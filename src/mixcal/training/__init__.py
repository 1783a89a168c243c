"""Training: the loop, and what it needs to be fast, resumable and honest."""
