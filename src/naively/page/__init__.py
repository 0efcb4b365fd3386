"""The report: one HTML file that shows a model, scores any row, and needs neither network nor server."""
