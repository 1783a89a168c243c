"""Images between classes: a diffusion model, its sampler, and the labels of what it draws."""
