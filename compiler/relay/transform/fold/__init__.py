"""Constants, scales and padding folded into what uses them."""
