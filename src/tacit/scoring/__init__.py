"""Metrics of a model's predictions: the definition of recall, scores of sentences, intervals over people."""
