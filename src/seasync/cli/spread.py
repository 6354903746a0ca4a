"""Options that several commands share, as one parameter: a dataclass, spread over the command line."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from typing import Any, get_type_hints

from seasync.files import Location


def spread(function: Callable[..., None]) -> Callable[..., None]:
    """The function as typer takes it: a parameter that is a dataclass becomes its fields, in its place."""
    function.__annotations__.pop("return", None)  # it may be known to type checkers only
    hints = get_type_hints(function, include_extras=True)
    groups: dict[str, Any] = {
        name: kind for name, kind in hints.items() if is_dataclass(kind) and kind is not Location
    }

    def run(**given: Any) -> None:
        made = {
            name: kind(**{field.name: given.pop(field.name) for field in fields(kind)})
            for name, kind in groups.items()
        }
        function(**given, **made)

    parameters: list[inspect.Parameter] = []
    for name, parameter in inspect.signature(function).parameters.items():
        kinds, own = hints, [parameter]
        if name in groups:
            kinds = get_type_hints(groups[name], include_extras=True)
            own = list(inspect.signature(groups[name]).parameters.values())
        parameters += [p.replace(annotation=kinds[p.name], kind=p.KEYWORD_ONLY) for p in own]
    run.__name__, run.__doc__ = function.__name__, function.__doc__
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {p.name: p.annotation for p in parameters}
    return run
