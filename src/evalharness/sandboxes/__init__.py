"""The only place where processes are started."""
