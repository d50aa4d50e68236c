"""The server: REST and pages over the same actions, store and templates as the command line."""
