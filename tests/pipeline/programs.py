# JAX's functions are partly untyped; this file is about what they export.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownLambdaType=false
# pyright: reportUnknownArgumentType=false
"""Functions whose fusion and generated text the tests look at, and the compiler's stages for one of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import jax
from jax import lax

from shlo_disc.analysis.formula import Producers, producers_of
from shlo_disc.analysis.sizes import likely_points
from shlo_disc.artifact import Artifact
from shlo_disc.dynamic_ops.program import Program
from shlo_disc.fusion.fuse import plan_fusion, plan_unfused
from shlo_disc.host_ir import Case, Choice, Copy, HostCall, Launch, LaunchGroup, Step, While
from shlo_disc.kernels.groups import Abilities, Context, FusionPlan, Group
from shlo_disc.legalize.legalize import legalize
from shlo_disc.lower_cpu.work import DESKTOP
from shlo_disc.options import CompileOptions
from shlo_disc.parse.parser import parse_module
from shlo_disc.passes import PASSES
from shlo_disc.pipeline import Request, Stopwatch, compile_text
from tests.pipeline.exports import In, exported

REAL_PRODUCTS = Abilities(DESKTOP)


def softmax(x: Any) -> Any:
    return jax.nn.softmax(x, axis=-1)


def layer_norm(x: Any, scale: Any, shift: Any) -> Any:
    mean = x.mean(-1, keepdims=True)
    return (x - mean) * lax.rsqrt(x.var(-1, keepdims=True) + 1e-5) * scale + shift


def rms_norm(x: Any, scale: Any) -> Any:
    return x * lax.rsqrt((x * x).mean(-1, keepdims=True) + 1e-6) * scale


def chain(x: Any, scale: Any, shift: Any) -> Any:
    return softmax(layer_norm(jax.nn.gelu(x), scale, shift))


def dense(x: Any, w: Any, bias: Any) -> Any:
    return jax.nn.gelu(x @ w + bias)


def block(x: Any, scale: Any, up: Any, bias: Any, down: Any) -> Any:
    return x + jax.nn.gelu(rms_norm(x, scale) @ up + bias) @ down


def layers(count: int) -> Callable[..., Any]:
    """A model of `count` equal layers, each with weights of its own."""

    def run(x: Any, *weights: Any) -> Any:
        for k in range(count):
            x = block(x, *weights[4 * k : 4 * k + 4])
        return softmax(x)

    return run


LAYER = (In("16"), In("16, 32"), In("32"), In("32, 16"))


@dataclass(frozen=True, slots=True)
class Planned:
    """A program and the fusion of its main body."""

    program: Program
    producers: Producers
    plan: FusionPlan

    def group_of(self, name: str) -> Group:
        """The only group with an op of this name."""
        (found,) = (g for g in self.plan.groups if any(op.name == name for op in g.ops))
        return found


def context_of(program: Program, abilities: Abilities = REAL_PRODUCTS) -> Context:
    """What fusion decides by, for a target of these abilities."""
    return Context(program.facts, producers_of(program.body), abilities, likely_points(program, {}))


def planned(function: Callable[..., Any], *inputs: In, merge: bool = True) -> Planned:
    """Legalize, rewrite, and fuse the exported function."""
    program = legalize(parse_module(exported(function, inputs).mlir_module(), "export.mlir"))
    for step in PASSES:
        program = step.run(program)
    context = context_of(program)
    plan = (plan_fusion if merge else plan_unfused)(program.body, context)
    return Planned(program, context.producers, plan)


def generated(
    function: Callable[..., Any],
    *inputs: In,
    options: CompileOptions | None = None,
    device: str = "cpu",
) -> Artifact:
    """Everything but the machine code."""
    text = exported(function, inputs).mlir_module()
    return compile_text(text, "export.mlir", Request(device, options or CompileOptions()), Stopwatch())


def launches(steps: tuple[Step, ...]) -> Iterator[Launch]:
    """Every launch of a program for the CPU, in order."""
    for step in steps:
        match step:
            case Launch():
                yield step
            case LaunchGroup():
                yield from step.launches
            case While(condition, _, body):
                yield from launches((*condition, *body))
            case Case(_, _, branches):
                for branch in branches:
                    yield from launches(branch)
            case Copy() | Choice() | HostCall():
                pass
