"""Pages: one self-contained HTML file a run, or a comparison of runs."""
