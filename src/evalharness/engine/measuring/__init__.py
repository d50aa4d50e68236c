"""From graded trials to figures with intervals."""
