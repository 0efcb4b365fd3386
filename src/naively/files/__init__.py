"""Files and streams: whatever a path or a stream holds becomes blocks of typed columns, and rows become files."""
