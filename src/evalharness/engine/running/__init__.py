"""From planned trials to graded ones."""
