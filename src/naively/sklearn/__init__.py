"""The five classic classifiers under scikit-learn's names: change the import, keep the code. And a counter of words.

>>> from naively.sklearn import GaussianNB
>>> GaussianNB().fit([[1.0], [1.2], [3.1], [2.9]], ["a", "a", "b", "b"]).predict([[1.1], [3.0]])
array(['a', 'b'], dtype='<U1')
"""

from .bernoulli import BernoulliNB
from .categorical import CategoricalNB
from .gaussian import GaussianNB
from .multinomial import ComplementNB, MultinomialNB
from .onnx_converters import register_onnx_converters
from .text_counter import TextCounter

__all__ = [
    "BernoulliNB",
    "CategoricalNB",
    "ComplementNB",
    "GaussianNB",
    "MultinomialNB",
    "TextCounter",
    "register_onnx_converters",
]
