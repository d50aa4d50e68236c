"""Eval-harness files and native ones: written evals → cases with graders, targets and inputs."""
