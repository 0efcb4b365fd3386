"""The evidence of single values, adjusted: what is adjusted, how far, and what that bought."""
