"""Views: what a step sees of raw images. Batched, on the images' device, each image by itself.

Every view is a pure function of raw uint8 images and a table of uniform numbers, one row an image.
The numbers are drawn on the CPU (data/draws.py), so a view is the same on every device, in every
process and after every resume; and nothing here asks the device for a value.
"""
