"""scikit-learn's base classes, which an estimator takes on when scikit-learn is imported, and not before.

The import of scikit-learn takes about a second, and a model that is loaded and answers needs nothing of it. So
`NaiveBayes` is made without its base classes. As soon as `sklearn.base` is imported, by whoever, they become its bases:
``isinstance(nb, BaseEstimator)`` holds wherever it can be written, and `clone`, tags, metadata routing and the HTML
representation are scikit-learn's own. A method of these classes that is called before imports scikit-learn first.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import TYPE_CHECKING, Any, Self, TypeVar

if TYPE_CHECKING:
    from sklearn.utils import Tags

BASES = "sklearn.base"  # the module of the base classes
# What the base classes have beside the methods of `DeferredEstimator`. Other names are no reason to import them.
INHERITED = frozenset(
    {
        *("get_metadata_routing", "_get_metadata_request", "_get_param_names", "_get_params_html", "_estimator_type"),
        *("_repr_html_inner", "_get_doc_link", "_validate_params", "_html_repr"),
        *("set_fit_request", "set_partial_fit_request", "set_score_request"),
    }
)

Class = TypeVar("Class", bound=type)


class DeferredEstimator:
    """Takes the place of scikit-learn's `ClassifierMixin` and `BaseEstimator` until these are imported."""

    def __getattr__(self, name: str) -> Any:
        if name not in INHERITED:
            object.__getattribute__(self, name)  # raises what it raised before: a property may have said why
        return getattr(_with_bases(self), name)

    def __repr__(self) -> str:
        return repr(_with_bases(self))

    @property
    def _repr_html_(self) -> Callable[[], str]:
        found: Callable[[], str] = _with_bases(self)._repr_html_
        return found

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        bundle: dict[str, str] = _with_bases(self)._repr_mimebundle_(**kwargs)
        return bundle

    def __sklearn_tags__(self) -> Tags:
        return _with_bases(self).__sklearn_tags__()

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the settings, as in scikit-learn.

        Parameters
        ----------
        deep : bool, default=True
            Whether to return the settings of settings that are estimators, too.

        Returns
        -------
        dict
            The settings by name.
        """
        found: dict[str, Any] = _with_bases(self).get_params(deep)
        return found

    def set_params(self, **params: Any) -> Self:
        """Change settings, as in scikit-learn.

        Parameters
        ----------
        **params
            Settings by name.

        Returns
        -------
        NaiveBayes
            The same object.
        """
        _with_bases(self).set_params(**params)
        return self


def with_sklearn_bases(cls: Class) -> Class:
    """Make scikit-learn's classes the bases of a class: now if they are imported, else as soon as they are."""
    if BASES in sys.modules:
        _take_bases(cls)
    else:
        sys.meta_path.insert(0, _ImportListener(lambda: _take_bases(cls)))
    return cls


def _take_bases(cls: type) -> None:
    """Put scikit-learn's classes in the place of `DeferredEstimator`."""
    from sklearn.base import BaseEstimator, ClassifierMixin

    cls.__bases__ = (ClassifierMixin, BaseEstimator)
    _announce(cls)


def _announce(cls: type) -> None:
    """Do for a class and those derived from it what Python does when a class is made of its bases."""
    bases: Any = super  # for the type checker, `type` is no class
    bases(cls, cls).__init_subclass__()  # which gives it the methods of metadata routing
    below: list[type] = type.__subclasses__(cls)
    for derived in below:
        _announce(derived)


def _with_bases(estimator: DeferredEstimator) -> Any:
    """Import scikit-learn, and return the same estimator, which then has its base classes."""
    import sklearn.base  # noqa: F401

    if isinstance(estimator, DeferredEstimator):  # an import system that does not call the listener
        _take_bases(next(cls for cls in type(estimator).__mro__ if DeferredEstimator in cls.__bases__))
    return estimator


class _ImportListener(MetaPathFinder):
    """Finds nothing itself, but calls a function once the module of the base classes was imported."""

    def __init__(self, call: Callable[[], None]) -> None:
        self.call = call

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return what the other finders find, whose loader calls the function when it is done."""
        if fullname != BASES:
            return None
        others = (finder.find_spec for finder in sys.meta_path if finder is not self and hasattr(finder, "find_spec"))
        spec = next((spec for find in others if (spec := find(fullname, path, target)) is not None), None)
        if spec is not None and spec.loader is not None:
            self._follow(spec.loader)
        return spec

    def _follow(self, loader: Any) -> None:
        run = loader.exec_module

        def exec_module(module: ModuleType) -> None:
            run(module)
            if module.__name__ == BASES and self in sys.meta_path:  # once, however many threads import it
                sys.meta_path.remove(self)
                self.call()

        loader.exec_module = exec_module
