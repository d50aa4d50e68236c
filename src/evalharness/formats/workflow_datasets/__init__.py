"""Workflow datasets: cases with assertions about what a run of a workflow left behind."""
