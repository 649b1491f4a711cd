"""Values of JSON text."""

from __future__ import annotations

import json
from typing import Any


def _refused(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


# Python's own reader takes `NaN` and `Infinity` too.
_READER = json.JSONDecoder(parse_constant=_refused)


def value_of(text: str) -> Any:
    """The value of JSON text. Raises ValueError if it is none, or if Python cannot hold it."""
    try:
        return _READER.decode(text)
    except RecursionError as error:
        raise ValueError("it is nested too deep for Python's reader") from error
