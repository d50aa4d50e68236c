"""What a reader is reported, one form per file."""
