"""`NaiveBayes` and what is done with one: fit, predict, cross-validate, merge, save and load.

In: tables, files and model files, and settings (`Parameters`). Out: a `FittedClassifier`, which holds a state, a model
and settings apart; `update.py` alone moves one state to another. It may import all but the surfaces.
"""
