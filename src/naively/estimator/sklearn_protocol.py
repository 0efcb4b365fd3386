"""What scikit-learn asks of an estimator, without its base classes: their import takes longer than loading a model."""

from __future__ import annotations

from inspect import getmembers, isfunction, signature
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from sklearn.utils import Tags
    from sklearn.utils.metadata_routing import MetadataRequest


class SklearnProtocol:
    """Parameters, tags and metadata routing of a classifier; scikit-learn is imported by whoever asks for the latter.

    `clone`, `Pipeline`, searches and scorers of scikit-learn take such an object. It is no instance of `BaseEstimator`.
    """

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the settings, as in scikit-learn.

        Parameters
        ----------
        deep : bool, default=True
            Not used: no setting is an estimator.

        Returns
        -------
        dict
            The settings by name.
        """
        return {name: getattr(self, name) for name in list(signature(type(self).__init__).parameters)[1:]}

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
        names = self.get_params()
        for name in params:
            if name not in names:
                known = sorted(names)
                raise ValueError(f"Invalid parameter {name!r} for estimator {self}. Valid parameters are: {known}.")
        for name, value in params.items():
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        usual = signature(type(self).__init__).parameters
        texts = {name: repr(value) for name, value in self.get_params().items()}
        changed = (f"{name}={text}" for name, text in texts.items() if text != repr(usual[name].default))
        return f"{type(self).__name__}({', '.join(changed)})"

    def __sklearn_tags__(self) -> Tags:
        from sklearn.utils import ClassifierTags, InputTags, Tags, TargetTags

        cells = InputTags(allow_nan=True, string=True, categorical=True, sparse=True)
        return Tags("classifier", TargetTags(required=True), classifier_tags=ClassifierTags(), input_tags=cells)

    # -- metadata routing -----------------------------------------------------------------------------------------

    def get_metadata_routing(self) -> MetadataRequest:
        """Return which metadata the methods ask for, as in scikit-learn.

        Returns
        -------
        MetadataRequest
            The requests of each method.
        """
        return self._routing().get_metadata_routing()

    def set_fit_request(self, **requests: bool | str | None) -> Self:
        """Ask for metadata of `fit`, as in scikit-learn.

        Parameters
        ----------
        **requests
            Which metadata, such as ``sample_weight=True``.

        Returns
        -------
        NaiveBayes
            The same object.
        """
        return self._with_requests("fit", requests)

    def set_partial_fit_request(self, **requests: bool | str | None) -> Self:
        """Ask for metadata of `partial_fit`, as in scikit-learn.

        Parameters
        ----------
        **requests
            Which metadata, such as ``sample_weight=True``.

        Returns
        -------
        NaiveBayes
            The same object.
        """
        return self._with_requests("partial_fit", requests)

    def set_score_request(self, **requests: bool | str | None) -> Self:
        """Ask for metadata of `score`, as in scikit-learn.

        Parameters
        ----------
        **requests
            Which metadata, such as ``sample_weight=True``.

        Returns
        -------
        NaiveBayes
            The same object.
        """
        return self._with_requests("score", requests)

    def _with_requests(self, method: str, requests: dict[str, bool | str | None]) -> Self:
        self._metadata_request = getattr(self._routing(), f"set_{method}_request")(**requests)._metadata_request
        return self

    def _routing(self) -> Any:
        """Return an object of scikit-learn with the same methods and requests: it derives these from signatures."""
        other = sklearn_class(type(self))()
        if "_metadata_request" in vars(self):  # `clone` copies it, too
            other._metadata_request = self._metadata_request
        return other


def sklearn_class(cls: type) -> Any:
    """Return a class of scikit-learn's with the methods of another one."""
    from sklearn.base import BaseEstimator

    methods = {name: method for name, method in getmembers(cls, isfunction) if name in ("fit", "partial_fit", "score")}
    return type(cls.__name__, (BaseEstimator,), methods)
