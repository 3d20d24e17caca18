"""Programs in which every text that a user may choose is hostile, one at a time or all at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping

MARK = "zqmark"  # stands in every hostile text, and in no text of ours
BREAKS = {
    "newline": "\n",
    "return": "\r",
    "both": "\r\n",
    "vertical tab": "\v",
    "form feed": "\f",
    "next line": "\x85",
    "line separator": "\u2028",
    "paragraph separator": "\u2029",
    "escape": "\x1b[2K",
    "zero": "\0",
    "end of a comment": "*/",
    "end of a string": '");',
    "end of a script": "</script>",
    "percent": "%n%s%",
    "bidirectional": "\u202e\u2066",
}
CONTINUATIONS = {"backslash": "\\", "trigraph": "??/", "backslash and spaces": "\\  ", "backslash and return": "\\\r"}


def payloads(code: str) -> Mapping[str, str]:
    """Texts that make `code` a statement of its own, or make a line of ours a comment, wherever they are copied to."""
    found = {name: f"{MARK}{text}{code}{text}#pragma {MARK}" for name, text in BREAKS.items()}
    return found | {name: f"{MARK}{text}" for name, text in CONTINUATIONS.items()}


def quoted(text: str) -> str:
    """A string of MLIR, every character of it escaped."""
    return '"' + "".join([f"\\{byte:02X}" for byte in text.encode("utf-8", "surrogatepass")]) + '"'


POSITIONS = (
    "file",
    "module",
    "function",
    "private function",
    "argument",
    "argument of the export",
    "location",
    "named location",
    "size",
    "size as an argument",
    "custom call",
    "backend_config",
    "backend_config's entry",
    "composite",
    "attribute",
    "name of an attribute",
    "message",
    "result",
    "number of a value",
)
INNER = "zqinner"


def program(wrong: Callable[[str], str]) -> str:
    """A program; `wrong` gives the text for each position."""

    def at(position: str, prefix: str = "") -> str:
        return quoted(prefix + wrong(position))

    return f"""\
module @{at("module")} attributes {{{at("name of an attribute", "jax.")} = {at("attribute")}}} {{
  func.func public @{at("function")}(
      %a: tensor<?x?xf32> {{jax.arg_info = {at("argument")}}} loc({at("location")}:1:2),
      %b: tensor<?xf32> loc({at("named location")})
  ) -> (tensor<?x?xf32> {{jax.result_info = {at("result")}}}, tensor<?x?xf32>) {{
    %s = stablehlo.get_dimension_size %a, dim = 0 : (tensor<?x?xf32>) -> tensor<i32>
    %t = stablehlo.get_dimension_size %a, dim = 1 : (tensor<?x?xf32>) -> tensor<i32>
    %u = stablehlo.get_dimension_size %b, dim = 0 : (tensor<?xf32>) -> tensor<i32>
    %ok = stablehlo.compare EQ, %t, %u : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.custom_call @shape_assertion(%ok, %t, %u)
        {{api_version = 2 : i32, error_message = {at("message", "{0} is not {1}")}, has_side_effect = true}}
        : (tensor<i1>, tensor<i32>, tensor<i32>) -> () loc({at("location")}:3:4)
    %r:2 = call @{at("private function", INNER)}(%s, %t, %a, %b)
        : (tensor<i32>, tensor<i32>, tensor<?x?xf32>, tensor<?xf32>) -> (tensor<?x?xf32>, tensor<?x?xf32>)
    return %r#0, %r#1 : tensor<?x?xf32>, tensor<?x?xf32>
  }}
  func.func private @{at("private function", INNER)}(
      %s: tensor<i32> {{jax.global_constant = {at("size")}}},
      %t: tensor<i32> {{jax.global_constant = {at("size as an argument")}}},
      %a: tensor<?x?xf32>, %b: tensor<?xf32>
  ) -> (tensor<?x?xf32>, tensor<?x?xf32>) {{
    %s1 = stablehlo.reshape %s : (tensor<i32>) -> tensor<1xi32>
    %t1 = stablehlo.reshape %t : (tensor<i32>) -> tensor<1xi32>
    %shape = stablehlo.concatenate %s1, %t1, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %c = stablehlo.dynamic_broadcast_in_dim %b, %shape, dims = [1]
        : (tensor<?xf32>, tensor<2xi32>) -> tensor<?x?xf32> loc({at("named location")})
    %d = stablehlo.add %a, %c : tensor<?x?xf32> loc({at("location")}:5:6)
    %e = stablehlo.custom_call @{at("custom call")}(%d, %shape)
        {{indices_of_shape_operands = dense<1> : tensor<1xi64>,
          mhlo.backend_config = {{{at("backend_config's entry", "k")} = {at("backend_config")}}}}}
        : (tensor<?x?xf32>, tensor<2xi32>) -> tensor<?x?xf32>
    %z = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %f = stablehlo.reduce(%e init: %z) applies stablehlo.maximum across dimensions = [1]
        : (tensor<?x?xf32>, tensor<f32>) -> tensor<?xf32>
    %g = stablehlo.dynamic_broadcast_in_dim %f, %shape, dims = [0]
        : (tensor<?xf32>, tensor<2xi32>) -> tensor<?x?xf32>
    %h = stablehlo.composite "my.op" %g
        {{composite_attributes = {{{at("name of an attribute", "k")} = {at("attribute")}}},
          decomposition = @{at("composite", "body")}}} : (tensor<?x?xf32>) -> tensor<?x?xf32>
    %i = stablehlo.subtract %e, %h : tensor<?x?xf32>
    return %i, %g : tensor<?x?xf32>, tensor<?x?xf32>
  }}
  func.func private @{at("composite", "body")}(%x: tensor<?x?xf32>) -> tensor<?x?xf32> {{
    %0 = stablehlo.tanh %x : tensor<?x?xf32>
    return %0 : tensor<?x?xf32>
  }}
}} loc({at("named location")})
"""
