"""Objectives: the two ways a step is computed, as text in run order."""
