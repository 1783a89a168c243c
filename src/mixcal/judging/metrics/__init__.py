"""Numbers about confidence: values that add, and functions of them."""
