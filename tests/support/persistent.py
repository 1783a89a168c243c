"""Modules that pickle as EDM's do: a dictionary of what they hold, and the text of their code."""

from typing import Any

from torch import nn

SOURCE = "raise SystemExit('the text in the file was run')"


class EasyDict(dict):
    """A dictionary of another name."""


def _reconstruct_persistent_obj(meta: dict) -> None:
    raise AssertionError("the file was unpickled")


class Persistent(nn.Module):
    """Pickles as a dictionary of its attributes beside the text of its module."""

    def __init__(self, **named: Any) -> None:
        super().__init__()
        self._init_args = ()
        self._init_kwargs = named

    def __reduce__(self) -> tuple:
        meta = {
            "type": "class",
            "version": 6,
            "module_src": SOURCE,
            "class_name": type(self).__name__,
            "state": dict(self.__dict__),
        }
        return _reconstruct_persistent_obj, (meta,), None
