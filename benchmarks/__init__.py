"""What the harness costs, beside what the same work costs without it. No tests: nothing here asserts a time."""
