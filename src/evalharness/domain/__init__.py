"""The nouns, as frozen data; no input or output happens here."""
