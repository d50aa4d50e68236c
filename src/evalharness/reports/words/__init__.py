"""Findings and hints in English: `say` puts a code with its parameters into words."""
