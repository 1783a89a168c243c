"""Rescalers: logits to honest probabilities, fitted on data the network was not trained on."""
