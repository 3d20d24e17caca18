"""Which sizes are ragged: what a caller says, by names of sizes and arguments, found in a program."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from shlo_disc.diagnostics import ShloDiscError, one_line, whole_number
from shlo_disc.dynamic_ops.program import Parameter, Program
from shlo_disc.ir.attributes import AliasLocation, NameLocation, SymbolAttr
from shlo_disc.ir.core import Module
from shlo_disc.ragged.program import RaggedSize


def ragged_sizes(
    module: Module, program: Program, given: Sequence[str], ragged: Mapping[str, str | int]
) -> tuple[list[str], list[RaggedSize]]:
    """The name of each argument, for people, and the ragged sizes.

    Args:
        module: the program's text.
        program: the same as DHLO.
        given: the names of its arguments.
        ragged: for each ragged size, by name, the argument that says its lengths, by name or number.

    Raises:
        ShloDiscError: a name is unknown, an argument cannot say lengths, or no size is ragged.
    """
    if not ragged:
        raise ShloDiscError("found no ragged size, expected one, as in {'s': 'lengths'}")
    names = _argument_names(module, program, given)
    sizes = [_ragged_size(program, names, *item) for item in ragged.items()]
    by_argument = {each.argument: each for each in sizes[::-1]}
    for each in sizes:
        if (first := by_argument[each.argument]) is not each:
            raise ShloDiscError(
                f"found {one_line(names[each.argument][0])} for the sizes {first.name} and {each.name}, expected an "
                "argument for each\n  help: give dims that are as long as each other one name"
            )
    return [each[0] for each in names], sizes


def _argument_names(module: Module, program: Program, given: Sequence[str]) -> list[list[str]]:
    """The names of each argument, the best one first: of the function's parameters, of the export, of the text."""
    found = [[one.tensor.name, name] for name, one in zip(given, program.parameters, strict=True)]
    main = module.functions.get("main")
    if main is None or len(main.body.arguments) != len(found):
        return found
    numbers = {value: number for number, value in enumerate(main.body.arguments)}
    for op in main.walk():
        for attribute in op.attributes.values():
            called = module.functions.get(attribute.name) if isinstance(attribute, SymbolAttr) else None
            if called is None or len(called.body.arguments) != len(op.operands):
                continue
            for operand, argument in zip(op.operands, called.body.arguments, strict=True):
                location = argument.location
                if isinstance(location, AliasLocation):
                    location = module.location_aliases.get(location.name)
                if operand in numbers and isinstance(location, NameLocation):
                    found[numbers[operand]].insert(0, location.name)
    return found


def _ragged_size(program: Program, names: Sequence[Sequence[str]], name: str, argument: str | int) -> RaggedSize:
    if name not in program.sizes:
        raise ShloDiscError(f"found the ragged size '{one_line(name)}', expected one of {listed(program.sizes)}")
    number = _number(names, argument)
    parameter, size = program.parameters[number], program.facts.canonical(program.sizes[name])
    shape = parameter.tensor.shape
    if len(shape) == 1 and parameter.tensor.dtype.is_integer:
        if shape[0] == size:
            raise ShloDiscError(
                f"found lengths along {name} itself, {one_line(names[number][0])} of type {_type(parameter)}, "
                "expected a length for each row, integers [rows], where rows is another size"
            )
        return _of_rows(RaggedSize(name, size, shape[0], number), program, names)
    if len(shape) == 2 and size in shape and shape[0] != shape[1] and not parameter.tensor.dtype.is_complex:
        batch = shape[1] if shape[0] == size else shape[0]
        return _of_rows(RaggedSize(name, size, batch, number, is_mask=True), program, names)
    raise ShloDiscError(
        f"found the argument {one_line(names[number][0])} of type {_type(parameter)}, "
        f"expected the lengths, integers [rows], or a mask [rows, {name}]"
    )


def _of_rows(found: RaggedSize, program: Program, names: Sequence[Sequence[str]]) -> RaggedSize:
    """The ragged size, if in each argument that has it one dim counts rows at most."""
    if found.batch.constant == 1:
        raise ShloDiscError(
            f"found one row in {one_line(names[found.argument][0])}, expected a size other than 1\n"
            "  help: give the rows a name, as in 'f32[b, s], i32[b]'"
        )
    if not any(found.size in each.tensor.shape and found.batch in each.tensor.shape for each in program.parameters):
        raise ShloDiscError(
            f"found no argument with the ragged size {found.name} and a size {found.batch}, which counts rows as in "
            f"{one_line(names[found.argument][0])}, expected one that is padded"
        )
    for parameter, known in zip(program.parameters, names, strict=True):
        shape = parameter.tensor.shape
        if found.size in shape and shape.count(found.batch) > 1:
            raise ShloDiscError(
                f"found the argument {one_line(known[0])} of type {_type(parameter)}, expected one dim of the size "
                f"{found.batch} in an argument with the ragged size {found.name}"
            )
    return found


def _type(parameter: Parameter) -> str:
    tensor = parameter.tensor
    return f"{tensor.dtype.value}[{', '.join(map(str, tensor.shape))}]"


def _number(names: Sequence[Sequence[str]], argument: str | int) -> int:
    if isinstance(argument, str):
        found = [number for number, known in enumerate(names) if argument in known]
        if len(found) == 1:
            return found[0]
        raise ShloDiscError(
            f"found the argument '{one_line(argument)}', expected one of {listed([each[0] for each in names])}"
        )
    number = whole_number(argument, "the number of an argument")
    if not 0 <= number < len(names):
        raise ShloDiscError(f"found the argument number {number}, expected one from 0 to {len(names) - 1}")
    return number


def listed(names: Iterable[str]) -> str:
    """Names in order, as text."""
    return ", ".join(sorted(one_line(name) for name in names)) or "none"
