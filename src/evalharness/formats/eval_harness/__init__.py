"""Eval-harness files: single evals, regression evals, eval suites."""
