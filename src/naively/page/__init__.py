"""The page that shows a model: one HTML file, alive with JavaScript and readable without."""
