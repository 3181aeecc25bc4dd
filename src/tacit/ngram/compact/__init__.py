"""The compact n-gram file: its reader and writer, the search for suggestions, and the model that can be asked."""
