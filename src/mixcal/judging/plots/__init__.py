"""Pictures for files, one family a module: what the report's page draws, and the papers' figures.

Every function is given numbers, draws them on a sheet of its own and answers the sheet, a
matplotlib Figure. matplotlib is imported by the first one that is called.
"""
