"""What the harness costs, compared with the same work without it. These are not tests: nothing here asserts a time."""
