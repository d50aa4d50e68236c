"""Systems under test, one kind per file."""
