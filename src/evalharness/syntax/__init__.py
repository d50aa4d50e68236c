"""Texts as plain data with line numbers, and back: YAML 1.2, JSON, JSONL. What the data means is not decided here."""
