"""File → Suite with all problems at file:line, and back: a folder for each family of documents."""
