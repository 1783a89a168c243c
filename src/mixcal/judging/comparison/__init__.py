"""Comparisons: several judged sets of predictions beside each other, paired where they can be."""
