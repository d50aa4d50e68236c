"""Our own suite file, and all that eval-harness files share with it: reader, writer, JSON Schema."""
