"""`NaiveBayes` and what is done with one: fit, predict, cross-validate, merge, save and load."""
