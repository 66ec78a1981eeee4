"""What a model-written function may be made of: a first look at its syntax tree, before anything of it runs.

It turns away honest code that could not work (files, other modules) with a reason to repair it by, and most of the
dishonest. It is not what keeps the host safe: the limits of the process are (`child`).
"""

from __future__ import annotations

import ast
import builtins
import decimal
import fractions
import functools
import itertools
import math
import random
import re
import statistics
import types
from collections.abc import Iterator, Mapping
from typing import Any

SOURCE_CHARACTERS = 50_000

_NODES = """
    Module FunctionDef Lambda arguments arg Return Delete Assign AugAssign AnnAssign NamedExpr For While If With
    withitem Raise Try TryStar ExceptHandler Assert Import ImportFrom alias Global Nonlocal Expr Pass Break
    Continue Match match_case MatchValue MatchSingleton MatchSequence MatchMapping MatchStar MatchAs MatchOr
    BoolOp BinOp UnaryOp IfExp Dict Set List Tuple ListComp SetComp DictComp GeneratorExp comprehension Yield
    YieldFrom Compare Call keyword FormattedValue JoinedStr Constant Attribute Subscript Starred Name Slice Load
    Store Del And Or Add Sub Mult MatMult Div Mod Pow LShift RShift BitOr BitXor BitAnd FloorDiv Invert Not UAdd
    USub Eq NotEq Lt LtE Gt GtE Is IsNot In NotIn
"""
_BUILTINS = """
    abs all any bin bool bytes callable chr complex dict divmod enumerate filter float format frozenset hash hex
    id int isinstance issubclass iter len list map max min next oct ord pow print range repr reversed round set
    slice sorted str sum tuple type zip ArithmeticError AssertionError AttributeError BaseException Exception
    FloatingPointError ImportError IndexError KeyError LookupError MemoryError NameError NotImplementedError
    OverflowError RecursionError RuntimeError StopIteration TypeError UnboundLocalError ValueError
    ZeroDivisionError
"""
_ALLOWED_NODES = frozenset(_NODES.split())
_MODULES = (math, fractions, decimal, itertools, functools, random, re, statistics)
# Those that set any attribute of any object, and the one whose numbers no seed fixes.
_LEFT_OUT = {"update_wrapper", "wraps", "SystemRandom"}
_TYPES = (
    *(bool, int, float, complex, str, bytes, list, tuple, dict, set, frozenset, range, slice, BaseException),
    *(fractions.Fraction, decimal.Decimal, decimal.Context, random.Random, statistics.NormalDist),
    *(re.Pattern, re.Match),
)
# The fields of the tree that hold a name: not attributes, which have a list of their own.
_IDENTIFIERS = ("id", "name", "arg", "asname", "rest")


def _public(module: types.ModuleType) -> types.ModuleType:
    """A module with the same public names, and without the modules that it imports itself."""
    names = getattr(module, "__all__", None) or [name for name in dir(module) if not name.startswith("_")]
    shown = types.ModuleType(module.__name__)
    for name in names:
        value = getattr(module, name)
        if name not in _LEFT_OUT and not isinstance(value, types.ModuleType):
            setattr(shown, name, value)
    return shown


_PUBLIC = {module.__name__: _public(module) for module in _MODULES}
_ATTRIBUTES = {name for kind in (*_TYPES, *_PUBLIC.values()) for name in dir(kind) if not name.startswith("_")}


def gate(tree: ast.Module, function: str) -> list[str]:
    """Why the source may not run, a line a fault; empty if it may."""
    faults = [f"line {getattr(node, 'lineno', 0)}: {fault}" for node in ast.walk(tree) for fault in _faults(node)]
    if not any(isinstance(node, ast.FunctionDef) and node.name == function for node in tree.body):
        faults.append(f"it defines no function {function}")
    return faults


def builtins_for_functions() -> dict[str, Any]:
    """The built-in names that functions see; `import` gives them the public part of the allowed modules."""
    names = {name: getattr(builtins, name) for name in _BUILTINS.split()}
    return {**names, "__import__": _import}


def _import(
    name: str,
    globals_: Mapping[str, object] | None = None,
    locals_: Mapping[str, object] | None = None,
    names: object = (),
    level: int = 0,
) -> types.ModuleType:
    if level or name not in _PUBLIC:
        raise ImportError(f"{name} may not be imported")
    return _PUBLIC[name]


def _faults(node: ast.AST) -> Iterator[str]:
    if type(node).__name__ not in _ALLOWED_NODES:
        yield f"{type(node).__name__} is not allowed"
    if isinstance(node, ast.Attribute) and node.attr not in _ATTRIBUTES:
        yield f"the attribute {node.attr} is not allowed"
    if isinstance(node, ast.Import):
        for alias in node.names:
            if alias.name not in _PUBLIC:
                yield f"{alias.name} may not be imported (allowed: {', '.join(_PUBLIC)})"
    if isinstance(node, ast.ImportFrom) and (node.level or node.module not in _PUBLIC):
        yield f"{node.module} may not be imported (allowed: {', '.join(_PUBLIC)})"
    identifiers = [getattr(node, field, None) for field in _IDENTIFIERS]
    if isinstance(node, ast.Global | ast.Nonlocal):
        identifiers += node.names
    for name in identifiers:
        if isinstance(name, str) and name.startswith("__"):
            yield f"the name {name} is not allowed"
