"""Pages for a browser: templates, style, script and plots, for the HTML report and for the server alike."""
