"""Suggestions from any model, and what was meant by noisy taps and by a glide over the keys."""
