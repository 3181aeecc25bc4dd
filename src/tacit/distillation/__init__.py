"""Turns a network into a small n-gram model, by SampleApprox (paper 4, section 4)."""
