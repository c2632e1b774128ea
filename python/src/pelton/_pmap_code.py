"""Sends a function to a worker.

A function of a module is sent by name. One of `__main__`, a lambda or a closure is sent by value: a
worker never imports `__main__`, so a script needs no `if __name__ == "__main__"`, and code at its top
level runs once. This module does that for plain functions. What it cannot do, such as a class that
is defined in `__main__`, is done by `cloudpickle` if that is installed: importing it in each process
takes longer than all else.
"""

from __future__ import annotations

import io
import marshal
import pickle
import sys
import types

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, List, Optional, Set, Tuple


def dump(value: "Any") -> bytes:
    """Returns `value` pickled, with functions of `__main__`, lambdas and closures by value.

    Raises:
        TypeError: If that is impossible; says what to do.
    """
    if not _is_by_value(value):
        try:
            return pickle.dumps(value, 5)
        except Exception:
            pass
    try:
        target = io.BytesIO()
        _Pickler(target, 5).dump(value)
        return target.getvalue()
    except Exception as error:
        return _dump_by_cloudpickle(value, error)


def _dump_by_cloudpickle(value: "Any", error: Exception) -> bytes:
    cloud = cloud_dumps()
    try:
        if cloud is not None:
            return cloud(value, 5)
    except Exception as second:
        error = second
    advice = "start='fork'" if cloud else "`pip install cloudpickle`, or start='fork'"
    raise TypeError(f"pelton: pmap: cannot send {value!r} to a worker: {error}; try {advice}") from error


def cloud_dumps() -> "Optional[Callable[..., bytes]]":
    """Returns `cloudpickle.dumps`, or None if it is not installed."""
    try:
        import cloudpickle  # type: ignore[import-untyped,import-not-found,unused-ignore]
    except ImportError:
        return None
    dumps: "Callable[..., bytes]" = cloudpickle.dumps
    return dumps


def _is_by_value(value: "Any") -> bool:
    if isinstance(value, types.FunctionType):
        return value.__module__ == "__main__" or not _is_importable(value)
    # A partial or a bound method may hold such a function.
    return getattr(value, "__module__", None) == "__main__" or not isinstance(
        value, (type, types.BuiltinFunctionType)
    )


def _is_importable(function: types.FunctionType) -> bool:
    found: "Any" = sys.modules.get(function.__module__)
    for name in function.__qualname__.split("."):
        found = getattr(found, name, None)
    return found is function


class _Pickler(pickle.Pickler):
    """Writes plain functions by value."""

    def reducer_override(self, value: "Any") -> "Any":
        if isinstance(value, types.ModuleType):
            return _import, (value.__name__,)
        if isinstance(value, types.FunctionType) and _is_by_value(value):
            return _reduce(value)
        if isinstance(value, type) and value.__module__ == "__main__":
            raise pickle.PicklingError(f"the class {value.__qualname__} is defined in __main__")
        return NotImplemented


def _reduce(function: types.FunctionType) -> "Tuple[Any, ...]":
    names = _names(function.__code__)
    wanted = {name: function.__globals__[name] for name in names if name in function.__globals__}
    cells = tuple(cell.cell_contents for cell in function.__closure__ or ())
    held = [*wanted.values(), *cells]
    submodules = [name for value in held if isinstance(value, types.ModuleType) for name in _below(value, names)]
    shell = (
        marshal.dumps(function.__code__),
        function.__name__,
        len(cells),
        # Functions of one module share its variables in the worker as well.
        id(function.__globals__),
    )
    rest = (wanted, cells, function.__defaults__, function.__kwdefaults__, submodules)
    # The state follows the function, so that a recursive one can refer to itself.
    return _new_function, shell, rest, None, None, _fill_function


def _names(code: types.CodeType) -> "Set[str]":
    names = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            names |= _names(constant)
    return names


def _below(module: types.ModuleType, names: "Set[str]") -> "List[str]":
    """Returns the submodules that code with these names may use, as in `xml.etree.ElementTree`."""
    start = module.__name__ + "."
    return [
        name
        for name in list(sys.modules)
        if name.startswith(start) and names.issuperset(name[len(start) :].split("."))
    ]


def _import(name: str) -> "Any":
    __import__(name)
    return sys.modules[name]


# The variables of modules of which functions were sent by value.
_variables: "Dict[int, Dict[str, Any]]" = {}


def _new_function(code: bytes, name: str, cells: int, module: int) -> types.FunctionType:
    # A script's name for itself: what asks for it does not find "__main__" and does not run it.
    fresh = {"__builtins__": __builtins__, "__name__": "__pelton_main__"}
    closure = tuple(types.CellType() for _ in range(cells))
    variables = _variables.setdefault(module, fresh)
    return types.FunctionType(marshal.loads(code), variables, name, None, closure)


def _fill_function(function: types.FunctionType, rest: "Tuple[Any, ...]") -> None:
    wanted, cells, function.__defaults__, function.__kwdefaults__, submodules = rest
    for name in submodules:
        _import(name)
    function.__globals__.update(wanted)
    for cell, content in zip(function.__closure__ or (), cells):
        cell.cell_contents = content
