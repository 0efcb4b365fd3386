"""Tables and files: anything with rows and columns becomes a `Frame`, and counts become a model file."""
