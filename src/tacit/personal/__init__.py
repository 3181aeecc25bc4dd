"""Personalises a model: fine-tuning for each person, paper 3's evaluation by sums, and a gate that rejects harm."""
