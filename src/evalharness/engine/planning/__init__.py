"""Which cases and trials a run has, and how many it needs."""
