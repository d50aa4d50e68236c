"""Programs that run generated code inside a sandbox. They import nothing but Python's own library and each other."""
