"""The parameters of kernels: annotated types, contracts, places."""

from __future__ import annotations

from types import FunctionType

from heald.diagnostics import CompileError, Diagnostic, Span
from heald.diagnostics.errors import collect
from heald.frontend.sources import (
    declared_parameters,
    has_source,
    is_lambda,
    no_source,
    parameters_of,
    read_source,
)
from heald.frontend.tables import Tables
from heald.types import Contract, Contracted, Pattern, as_type, contract_of


def parameter_patterns(function: FunctionType) -> tuple[tuple[str, Pattern], ...]:
    """Names and annotated types of a kernel's parameters; generic ones are patterns.

    Raises:
        CompileError: H0104, H0106, H0207 with the place of the parameter.
    """
    if is_lambda(function):
        raise no_source(function, "it is a lambda; kernels are written with def")
    patterns = [
        (p.name, _pattern(p.annotation) if p.has_meaning else None)
        for p in declared_parameters(function)
    ]
    if has_source(function) and all(pattern is not None for _, pattern in patterns):
        return tuple(patterns)
    raise _bad_parameters(function)


def parameter_contracts(function: FunctionType, tables: Tables) -> tuple[Contract | None, ...]:
    """The contract of each parameter, None where there is none; tables promise their shape."""
    declared = (contract_of(p.annotation) for p in declared_parameters(function))
    shapes = (Contract(tuple(map(str, table.shape)), fixed=True) for _, table in tables.named)
    return (*declared, *shapes)


def parameter_places(function: FunctionType) -> tuple[tuple[str, Span], ...]:
    """Names of parameters and where each is declared."""
    source = read_source(function)
    return tuple(
        (p.name, source.span(source.parameter(p.name), None)) for p in parameters_of(function)
    )


_VALUE_HINT = (
    'write a type; of an array that always has 4 elements, wp.array(dtype=float, shape=("4",))'
)


def _is_value(annotation: object) -> bool:
    """Is it a vector or an array, rather than the type of one?"""
    described = hasattr(type(annotation), "__heald_type__")
    return described and not isinstance(annotation, (type, Contracted))


def _pattern(annotation: object) -> Pattern | None:
    return None if _is_value(annotation) else as_type(annotation)


def _bad_parameters(function: FunctionType) -> CompileError:
    """Everything that is wrong with the parameters of a function."""
    source = read_source(function)
    errors = []
    for parameter in parameters_of(function):
        pattern = _pattern(parameter.annotation) if parameter.has_annotation else None
        if pattern is None:
            what = "has no annotation" if not parameter.has_annotation else "is not a kernel type"
            errors.append(
                Diagnostic(
                    "H0207",
                    f"the annotation of parameter '{parameter.name}' "
                    f"{'is missing' if not parameter.has_annotation else 'is not a kernel type'}",
                    source.span(source.parameter(parameter.name), None),
                    "is a value" if _is_value(parameter.annotation) else what,
                    hint=_VALUE_HINT
                    if _is_value(parameter.annotation)
                    else "annotate it, for example `x: wp.array(dtype=wp.float32)` or `n: int`",
                )
            )
    return collect(errors)
