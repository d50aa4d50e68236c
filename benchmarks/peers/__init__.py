"""Other harnesses at the same task. Each file is a program of its own, run by a Python that has that harness."""
