"""What a reader is told, one form per file."""
