"""The pages: one file for each, a thin route that gets data by an action and renders a template."""
