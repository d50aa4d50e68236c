"""Executing the trials of a run: the driver hands out work units, an executor gives trials back."""
