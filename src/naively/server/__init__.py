"""The server: a page and a JSON API for fitted models (``naively serve``, extra ``naively[serve]``).

Comes in: model files, and requests, which `application.py` hands to their handlers. Goes out: predictions, explanations
and pages; learned rows, first on the disk. May import: `estimator` and what is below it.
"""
