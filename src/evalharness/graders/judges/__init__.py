"""Judges: graders that ask a language model for a verdict, and what keeps the verdict the judge's own."""
