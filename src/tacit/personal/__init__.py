"""Does fine-tuning help each typist? Paper 3's evaluation by sums, and a gate that refuses harm."""
