"""What a reader sees, one format per file."""
