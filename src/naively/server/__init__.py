"""The server: a page and a JSON API for fitted models (``naively serve``, extra ``naively[serve]``)."""
