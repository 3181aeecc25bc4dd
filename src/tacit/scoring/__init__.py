"""What is measured of a model's predictions: the rule of recall, scores of sentences, intervals over people."""
