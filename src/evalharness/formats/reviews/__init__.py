"""Reviews as files: rows of our own, and the layouts of other tools."""
