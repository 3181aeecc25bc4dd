"""Federated word counts: whitelists, rounds of counting, noise, and measures of the counts (paper 4, section 3)."""
