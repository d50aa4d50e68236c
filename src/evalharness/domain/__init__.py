"""The nouns, as frozen data: no input or output, and nothing of a foreign document."""
