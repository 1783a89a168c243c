"""The vocabulary: types only. Import from its modules, so that judging never loads torch."""
