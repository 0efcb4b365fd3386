"""The five classifiers under scikit-learn's names: change the import, keep the code. And a fast `CountVectorizer`.

Arrays, frames and sparse matrices come in, predictions and counts of words go out. Imports `model`,
`counting` and below, not `estimator`.

>>> from naively.sklearn import GaussianNB
>>> GaussianNB().fit([[1.0], [1.2], [3.1], [2.9]], ["a", "a", "b", "b"]).predict([[1.1], [3.0]])
array(['a', 'b'], dtype='<U1')
"""

from .classifiers import BernoulliNB, CategoricalNB, ComplementNB, GaussianNB, MultinomialNB
from .text_counter import TextCounter

__all__ = [
    "BernoulliNB",
    "CategoricalNB",
    "ComplementNB",
    "GaussianNB",
    "MultinomialNB",
    "TextCounter",
]
