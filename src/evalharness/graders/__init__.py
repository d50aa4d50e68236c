"""Judges of transcripts, one family per file."""
