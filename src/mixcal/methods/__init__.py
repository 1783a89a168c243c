"""Methods: losses, mixing, training dynamics, and what is composed of them."""
