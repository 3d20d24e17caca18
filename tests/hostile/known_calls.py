"""A valid program for every custom call that the compiler knows, and changes of its operands and results."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random

from tests.hostile.changes import TYPES

PARTS = {"f32": "f32", "f64": "f64", "complex<f32>": "f32", "complex<f64>": "f64"}
WHOLES = {"f32": "complex<f32>", "f64": "complex<f64>", "complex<f32>": "complex<f32>", "complex<f64>": "complex<f64>"}
LETTERS = {"s": "f32", "d": "f64", "c": "complex<f32>", "z": "complex<f64>"}
SIZES = ("0", "1", "2", "4", "6", "1048577", "?")


@dataclass(frozen=True, slots=True)
class Tensor:
    """A type: sizes as text, and the name of the element type."""

    sizes: tuple[str, ...]
    element: str

    def __str__(self) -> str:
        """Spell it as MLIR does."""
        return f"tensor<{''.join(f'{size}x' for size in self.sizes)}{self.element}>"


@dataclass(frozen=True, slots=True)
class Call:
    """One custom call; `config`: its options as a dictionary's text, or its attributes if it begins with `{`."""

    target: str
    operands: tuple[Tensor, ...]
    results: tuple[Tensor, ...]
    config: str = ""
    functions: str = ""

    @property
    def text(self) -> str:
        """The program: the call's operands are its arguments."""
        given = ", ".join(f"%a{k}: {x}" for k, x in enumerate(self.operands))
        names = ", ".join(f"%a{k}" for k in range(len(self.operands)))
        takes, gives = ", ".join(map(str, self.operands)), ", ".join(map(str, self.results))
        found = f"%0{f':{len(self.results)}' if len(self.results) > 1 else ''} = " if self.results else ""
        back = ", ".join("%0" if len(self.results) == 1 else f"%0#{k}" for k in range(len(self.results)))
        return (
            f"{self.functions}func.func @main({given}) -> ({gives}) {{\n"
            f"  {found}stablehlo.custom_call @{self.target}({names}) {self._attributes} : ({takes}) -> ({gives})\n"
            f"  return {back}{f' : {gives}' if back else ''}\n}}\n"
        )

    @property
    def _attributes(self) -> str:
        if self.config.startswith("{"):
            return self.config
        layouts = [f"[{', '.join(map(_columns, side))}]" for side in (self.operands, self.results)]
        return (
            f"{{mhlo.backend_config = {{{self.config}}}, api_version = 4 : i32, operand_layouts = {layouts[0]}, "
            f"result_layouts = {layouts[1]}}}"
        )


def _columns(x: Tensor) -> str:
    """A layout: matrices by columns, vectors and batches in order."""
    order = list(range(len(x.sizes) - 1, -1, -1))
    if len(order) > 2:
        order[:2] = order[1::-1]
    numbers = f"[{', '.join(map(str, order))}]" if order else ""
    return f"dense<{numbers}> : tensor<{len(order)}xindex>"


def _typed(spelled: str, element: str) -> tuple[Tensor, ...]:
    """Read types such as `T253 i2`, sizes of one digit after a letter: T, its Real part, a Complex number, int."""
    kinds = {"T": element, "R": PARTS[element], "C": WHOLES[element], "i": "i32"}
    return tuple([Tensor(tuple(x[1:]), kinds[x[0]]) for x in spelled.split()])


def _routines(of_complex: bool) -> Mapping[str, tuple[str, str, str]]:
    """Operands, results and options of LAPACK's routines, with two matrices each."""
    values, un, he = ("T25", "un", "he") if of_complex else ("T25 T25", "or", "sy")
    u, yes = "uplo = 76 : ui8", "left = true, transpose = true"
    return {
        "potrf": ("T255", "T255 i2", u),
        "trsm": ("T255 T253", "T253", f"side = 76 : ui8, {u}, trans_x = 78 : ui8, diag = 78 : ui8"),
        "getrf": ("T253", "T253 i23 i2", ""),
        "geqrf": ("T253", "T253 T23", ""),
        "geqp3": ("T253 i23", "T253 i23 T23", ""),
        f"{un}gqr": ("T253 T23", "T253", ""),
        f"{un}mqr": ("T253 T23 T254", "T254", yes),
        "gesdd": ("T253", "T253 R23 T255 T233 i2", "mode = 65 : ui8"),
        "gesvd": ("T253", "T253 R23 T255 T233 i2", "mode = 65 : ui8"),
        f"{he}evd": ("T255", "T255 R25 i2", f"mode = 86 : ui8, {u}"),
        f"{he}trd": ("T255", "T255 R25 R24 T24 i2", u),
        "geev": ("T255", f"{values} C255 C255 i2", "compute_left = 86 : ui8, compute_right = 86 : ui8"),
        "gees": ("T255", f"T255 T255 {values} i2 i2", "mode = 86 : ui8, sort = 78 : ui8"),
        "gehrd": ("T255", "T255 T24 i2", "low = 1 : i32, high = 5 : i32"),
        "gtsv": ("T25 T25 T25 T253", "T25 T25 T25 T253 i2", ""),
    }


def _gpu(of_complex: bool) -> Mapping[str, tuple[str, str, str]]:
    """The same of the calls that JAX exports for GPUs and TPUs."""
    values, both = "T25" if of_complex else "T25 T25", "left = true, right = true"
    lower, full = "lower = true", "full_matrices = true, compute_uv = true"
    untransposed = f"{full}, transposed = false"
    routines, un, he = _routines(of_complex), *(("un", "he") if of_complex else ("or", "sy"))
    options = {
        "potrf": lower, "getrf": "", "geqrf": "", f"{un}gqr": "", f"{un}mqr": "left = true, transpose = true",
        f"{he}evd": lower, f"{he}trd": lower, "gesvd": untransposed, "gesdd": untransposed,
    }  # fmt: skip
    real = {f"{un}gqr": "orgqr", f"{un}mqr": "ormqr", f"{he}evd": "syevd", f"{he}trd": "sytrd"}
    return {
        **{f"cusolver_{real.get(name, name)}_ffi": (*routines[name][:2], config) for name, config in options.items()},
        "cusolver_gesvdj_ffi": (*routines["gesdd"][:2], full),
        "cusolver_gesvdp_ffi": (*routines["gesdd"][:2], full),
        "cusolver_geev_ffi": ("T255", "T255 C25 T255 T255 i2", both),
        "cusolver_syrk_ffi": ("T253 T255 T T", "T255", "transpose = false"),
        "cuhybrid_eig_comp" if of_complex else "cuhybrid_eig_real": ("T255", f"{values} C255 C255 i2", both),
        "cuhybrid_geqp3": ("T253 i23", "T253 i23 T23", ""),
        "cusparse_gtsv2_ffi": ("T25 T25 T25 T253", "T253", ""),
        "cu_tridiagonal_solve_perturbed": ("T25 T25 T25 T253", "T253", ""),
        "tridiagonal_solve_perturbed_ffi": ("T25 T25 T25 T253", "T253", ""),
        "LuDecomposition": ("T253", "T253 i23 i25", ""),
        "Qr": ("T253", "T253 T23", ""),
        "ProductOfElementaryHouseholderReflectors": ("T253 T23", "T253", ""),
        "Eigh": ("T255", "T255 R25", '{backend_config = "1,1,100,1e-6"}'),
        "cpu_csr_sparse_dense_ffi": ("T6 i5 i6 T34", "T44", ""),
        "cusolver_csrlsvqr_ffi": ("T6 i6 i5 T4", "T4", "tol = 1.0e-6 : f64, reorder = 1 : i32"),
        **({} if of_complex else {"cu_cholesky_update_ffi": ("T55 T5", "T55 T5", "")}),
    }


_ADDED = """func.func private @added(%a: tensor<f32>, %b: tensor<f32>) -> tensor<f32> {
  %0 = stablehlo.add %a, %b : tensor<f32>
  return %0 : tensor<f32>
}
"""
_GREATER = """func.func private @greater(
    %a: tensor<f32>, %b: tensor<f32>, %i: tensor<i32>, %j: tensor<i32>) -> tensor<i1> {
  %0 = stablehlo.compare GT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
  return %0 : tensor<i1>
}
"""
_SHAPED = "indices_of_shape_operands = dense<[{}]> : tensor<{}xi64>"


def _others() -> Iterator[Call]:
    """Calls of no library."""
    x, words, key = Tensor(("4", "6"), "f32"), Tensor(("8",), "ui32"), Tensor(("2",), "ui64")
    positions = replace(x, element="i32")
    for target in ("Sharding", "xla.sdy.FuncResultSharding", "LayoutConstraint", "MoveToHost", "MoveToDevice",
                   "annotate_device_placement", "SPMDFullToShardShape", "SPMDShardToFullShape",
                   "xla.sdy.GlobalToLocalShape", "xla.sdy.LocalToGlobalShape"):  # fmt: skip
        yield Call(target, (x,), (x,), "{}")
    yield Call("dce_sink", (x,), (), "{has_side_effect = true}")
    yield Call("AllocateBuffer", (), (x,), "{}")
    yield Call("shape_assertion", (Tensor((), "i1"),), (), '{error_message = "no", has_side_effect = true}')
    yield Call("cu_threefry2x32_ffi", (words,) * 4, (words, words), "")
    yield Call("cu_lu_pivots_to_permutation", (Tensor(("2", "3"), "i32"),), (Tensor(("2", "5"), "i32"),), "")
    shape = Tensor(("2",), "i32")
    yield Call("stablehlo.dynamic_rng_bit_generator", (key, shape), (key, Tensor(("?", "?"), "ui32")),
               "{rng_algorithm = #stablehlo<rng_algorithm THREE_FRY>, api_version = 2 : i32, "
               + _SHAPED.format(1, 1) + "}")  # fmt: skip
    part, indices = Tensor(("4", "?"), "f32"), Tensor(("4", "?"), "i32")
    yield Call("stablehlo.dynamic_top_k", (x, Tensor((), "i32")), (part, indices), "{api_version = 2 : i32}")
    yield Call("shlo_disc.prefix", (x, Tensor(("2",), "i32")), (Tensor(("?", "?"), "f32"),), "{is_whole = false}")
    yield Call("shlo_disc.dynamic_fft", (x, Tensor(("1",), "i32")), (Tensor(("4", "?"), "complex<f32>"),),
               '{fft_type = "RFFT"}')  # fmt: skip
    three = Tensor(("4", "3"), "f32")
    yield Call("mhlo.topk", (x,), (three, replace(three, element="i32")),
               "{mhlo.attributes = {k = 3 : i64, largest = true}, mhlo.version = 1 : i64}")  # fmt: skip
    top = "mhlo.backend_config = {reduction_dim = 1 : i64, is_fallback = true, recall_target = 0.9 : f32, " \
          "aggregate_to_topk = true, reduction_input_size_override = -1 : i64}, api_version = 4 : i32, " \
          "called_computations = [@greater]"  # fmt: skip
    starts = Tensor((), "f32"), Tensor((), "i32")
    yield Call("ApproxTopK", (x, positions, *starts), (three, replace(three, element="i32")), f"{{{top}}}", _GREATER)
    yield Call("stablehlo.dynamic_approx_top_k", (x, positions, *starts, Tensor((), "i32")), (part, indices),
               f"{{{top}}}", _GREATER)  # fmt: skip
    yield Call("stablehlo.dynamic_reduce_window", (x, starts[0], *[shape] * 4, Tensor(("2", "2"), "i32")),
               (Tensor(("?", "?"), "f32"),), "{called_computations = [@added], api_version = 2 : i32}",
               _ADDED)  # fmt: skip


def known_calls() -> tuple[Call, ...]:
    """One or several calls of every target; LAPACK's in all four types."""
    found = list(_others())
    for letter, element in LETTERS.items():
        for name, (operands, results, config) in _routines(letter in "cz").items():
            target = f"lapack_{letter}{name}_ffi"
            found.append(Call(target, _typed(operands, element), _typed(results, element), config))
    for element in ("f32", "complex<f64>"):
        for target, (operands, results, config) in _gpu(element != "f32").items():
            found.append(Call(target, _typed(operands, element), _typed(results, element), config))
    return tuple(found)


def changed(rng: Random, call: Call) -> Call:
    """The call with one operand or result more, less, of another type, rank or size, or without options."""
    side = rng.choice(("operands", "operands", "results"))
    types = list[Tensor](getattr(call, side))
    if rng.random() < 0.05:
        return replace(call, config="")
    if not types or rng.random() < 0.15:
        types.insert(rng.randint(0, len(types)), rng.choice(types or [Tensor(("3",), "f32")]))
        return replace(call, **{side: tuple(types)})
    k = rng.randrange(len(types))
    x = types[k]
    match rng.randrange(6):
        case 0:
            del types[k]
        case 1:
            types[k] = replace(x, element=rng.choice(TYPES))
        case 2:
            at = rng.randint(0, len(x.sizes))
            types[k] = replace(x, sizes=(*x.sizes[:at], rng.choice(SIZES), *x.sizes[at:]))
        case 3 if x.sizes:
            at = rng.randrange(len(x.sizes))
            types[k] = replace(x, sizes=(*x.sizes[:at], *x.sizes[at + 1 :]))
        case _ if x.sizes:
            at = rng.randrange(len(x.sizes))
            types[k] = replace(x, sizes=(*x.sizes[:at], rng.choice(SIZES), *x.sizes[at + 1 :]))
        case _:
            types[k] = replace(x, sizes=("3",))
    return replace(call, **{side: tuple(types)})


def changes(rng: Random, calls: Sequence[Call]) -> Iterator[Call]:
    """Calls with one or two changes, without end."""
    while True:
        call = changed(rng, rng.choice(calls))
        yield changed(rng, call) if rng.random() < 0.3 else call
