"""Predictions to numbers, pictures and pages. Imports core only, and no torch."""
