"""Task suites: prompts, and what is expected of an agent's work."""
