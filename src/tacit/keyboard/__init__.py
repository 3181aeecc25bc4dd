"""The keyboard: suggestions from any model, and decoding of noisy taps and glides into words."""
