"""Translation models that generate a tree together with the translation."""

__version__ = "0.1.0"
