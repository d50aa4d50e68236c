"""From figures and a comparison to a run's verdict and exit code."""
