"""The compact n-gram file: reader, writer, search for suggestions, and its `Model`."""
