"""Programs that run generated code inside a sandbox. They import only Python's standard library and each other."""
