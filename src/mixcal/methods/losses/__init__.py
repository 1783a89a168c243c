"""Losses: logits and target distributions to one value per sample, one file a loss."""
