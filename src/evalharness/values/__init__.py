"""Texts, JSON values, patterns and variables: data in, data out. They know no noun."""
