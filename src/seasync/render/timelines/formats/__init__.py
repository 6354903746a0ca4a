"""One module for each timeline format, named as its files end; each has a function `write`."""
