"""Settings that stand in the environment."""

import os
from dataclasses import fields
from typing import Any, TypeVar

Settings = TypeVar("Settings")


def read_environment(kind: type[Settings], prefix: str) -> Settings:
    """Returns each field from the variable PREFIX_FIELD, in the type of its default, or
    its default. Raises ValueError if a number is expected."""
    found: dict[str, Any] = {}
    for field in fields(kind):  # type: ignore[arg-type]
        text = os.environ.get(f"{prefix}_{field.name.upper()}")
        if text is not None:
            found[field.name] = type(field.default)(text)
    return kind(**found)
