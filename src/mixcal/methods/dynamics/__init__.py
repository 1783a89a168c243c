"""Training dynamics: what a run remembers about its samples."""
