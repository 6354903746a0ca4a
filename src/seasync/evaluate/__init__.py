"""The paper's experiments on your data: data sets, measures, tables."""

import tomllib
from importlib import resources
from typing import Any


def described() -> dict[str, dict[str, Any]]:
    """What tables.toml says of each table."""
    text = resources.files(__name__).joinpath("tables/tables.toml").read_text("utf-8")
    return tomllib.loads(text)
