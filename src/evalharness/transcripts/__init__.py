"""What agents printed, read: one stream format per file. A parser takes the text and returns a Transcript."""
