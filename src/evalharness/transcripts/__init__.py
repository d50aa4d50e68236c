"""Parsers for the output of agents, one stream format per file. A parser takes the text and returns a Transcript."""
