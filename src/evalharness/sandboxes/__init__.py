"""Where processes are started, and nowhere else."""
