"""File to Suite, one syntax per file."""
