"""A trained model in use: bundle → Predictor. Imports neither methods nor training."""
