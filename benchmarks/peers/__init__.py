"""Other harnesses with the same task. Each file is a separate program, run by a Python that has that harness."""
