"""Texts, JSON values, patterns and variables as pure functions; they import nothing from `domain/`."""
