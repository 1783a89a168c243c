"""Bytes on disk to batches: sources, pools, splits, preprocessing, on-device views, loading."""
