"""N-gram models: Kneser-Ney, backoff automata, capitals, and the formats of n-gram files."""
