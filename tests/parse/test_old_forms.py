"""What older versions of JAX and StableHLO printed means what it would mean today."""

from __future__ import annotations

import subprocess
import sys

import pytest

from shlo_disc.ir.attributes import DenseArrayAttr
from shlo_disc.parse.parser import parse_module
from tests.parse.samples import program
from tests.parse.structure import structure

pytestmark = pytest.mark.quick

# An op in an older spelling, and in today's. The older dictionaries hold all attributes.
OLD_FORMS = (
    (
        '%0 = "stablehlo.transpose"(%m) {permutation = dense<[1, 0]> : tensor<2xi64>} : '
        "(tensor<4x5xf32>) -> tensor<5x4xf32>",
        "%0 = stablehlo.transpose %m, dims = [1, 0] : (tensor<4x5xf32>) -> tensor<5x4xf32>",
    ),
    (
        '%0 = "stablehlo.broadcast_in_dim"(%x) {broadcast_dimensions = dense<> : tensor<0xi64>} : '
        "(tensor<f32>) -> tensor<3xf32>",
        "%0 = stablehlo.broadcast_in_dim %x, dims = [] : (tensor<f32>) -> tensor<3xf32>",
    ),
    (
        '%0 = "stablehlo.slice"(%m) {limit_indices = dense<[4, 5]> : tensor<2xi64>, start_indices = dense<0> : '
        "tensor<2xi64>, strides = dense<[2, 1]> : tensor<2xi64>} : (tensor<4x5xf32>) -> tensor<2x5xf32>",
        "%0 = stablehlo.slice %m [0:4:2, 0:5] : (tensor<4x5xf32>) -> tensor<2x5xf32>",
    ),
    (
        '%0 = "stablehlo.pad"(%m, %x) {edge_padding_high = dense<0> : tensor<2xi64>, edge_padding_low = dense<1> : '
        "tensor<2xi64>, interior_padding = dense<0> : tensor<2xi64>} : "
        "(tensor<4x5xf32>, tensor<f32>) -> tensor<5x6xf32>",
        "%0 = stablehlo.pad %m, %x, low = [1, 1], high = [0, 0], interior = [0, 0] : "
        "(tensor<4x5xf32>, tensor<f32>) -> tensor<5x6xf32>",
    ),
    (
        '%0 = "stablehlo.gather"(%m, %i) {dimension_numbers = #stablehlo.gather<offset_dims = [1], '
        "collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1,>, indices_are_sorted = false, "
        "slice_sizes = dense<[1, 5]> : tensor<2xi64>} : (tensor<4x5xf32>, tensor<4xi32>) -> tensor<4x5xf32>",
        '%0 = "stablehlo.gather"(%m, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], '
        "collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false, "
        "slice_sizes = array<i64: 1, 5>}> : (tensor<4x5xf32>, tensor<4xi32>) -> tensor<4x5xf32>",
    ),
    (
        '%0 = "stablehlo.convolution"(%g, %k) {batch_group_count = 1 : i64, dimension_numbers = '
        "#stablehlo.conv<[b, 0, f]x[0, i, o]->[b, 0, f]>, feature_group_count = 1 : i64, lhs_dilation = dense<1> : "
        "tensor<1xi64>, padding = dense<[[1, 2]]> : tensor<1x2xi64>, window_reversal = dense<true> : tensor<1xi1>, "
        "window_strides = dense<1> : tensor<1xi64>} : (tensor<1x8x3xf32>, tensor<2x3x6xf32>) -> tensor<1x10x6xf32>",
        "%0 = stablehlo.convolution(%g, %k) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], "
        "window = {stride = [1], pad = [[1, 2]], lhs_dilate = [1], reverse = [1]} "
        "{batch_group_count = 1 : i64, feature_group_count = 1 : i64} : "
        "(tensor<1x8x3xf32>, tensor<2x3x6xf32>) -> tensor<1x10x6xf32>",
    ),
    (
        '%0 = "stablehlo.reduce_window"(%v, %x) ({\n    ^bb0(%c: tensor<f32>, %d: tensor<f32>):\n'
        "      stablehlo.return %c : tensor<f32>\n    }) {padding = dense<0> : tensor<1x2xi64>, "
        "window_dimensions = dense<2> : tensor<1xi64>} : (tensor<?xf32>, tensor<f32>) -> tensor<?xf32>",
        '%0 = "stablehlo.reduce_window"(%v, %x) <{padding = dense<0> : tensor<1x2xi64>, window_dimensions = '
        "array<i64: 2>}> ({\n    ^bb0(%c: tensor<f32>, %d: tensor<f32>):\n"
        "      stablehlo.return %c : tensor<f32>\n    }) : (tensor<?xf32>, tensor<f32>) -> tensor<?xf32>",
    ),
    (
        '%0 = "stablehlo.compare"(%n, %n) {compare_type = "SIGNED", comparison_direction = "LT"} : '
        "(tensor<i32>, tensor<i32>) -> tensor<i1>",
        "%0 = stablehlo.compare LT, %n, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>",
    ),
    (
        "%0 = chlo.broadcast_add %x, %v {broadcast_dimensions = dense<> : tensor<0xi64>} : "
        "(tensor<f32>, tensor<?xf32>) -> tensor<?xf32>",
        "%0 = chlo.broadcast_add %x, %v {broadcast_dimensions = array<i64>} : "
        "(tensor<f32>, tensor<?xf32>) -> tensor<?xf32>",
    ),
    (
        "%0 = stablehlo.dot %m, %v {precision_config = [#stablehlo<precision HIGH>, #stablehlo<precision DEFAULT>]} : "
        "(tensor<4x5xf32>, tensor<?xf32>) -> tensor<4xf32>",
        "%0 = stablehlo.dot %m, %v, precision = [HIGH, DEFAULT] : (tensor<4x5xf32>, tensor<?xf32>) -> tensor<4xf32>",
    ),
    (
        "%0 = stablehlo.constant() {value = dense<3> : tensor<i32>} : () -> tensor<i32>",
        "%0 = stablehlo.constant dense<3> : tensor<i32>",
    ),
)


@pytest.mark.parametrize(("old", "new"), OLD_FORMS)
def test_an_older_spelling_means_the_same(old: str, new: str) -> None:
    module = parse_module(program(old))
    assert structure(module) == structure(parse_module(program(new)))
    assert str(module) == str(parse_module(program(new)))


def test_a_literal_that_is_no_list_stays_what_it_is() -> None:
    value = "dense<0> : tensor<1x2xi64>"
    text = f'%0 = "stablehlo.transpose"(%m) <{{permutation = {value}}}> : (tensor<4x5xf32>) -> tensor<5x4xf32>'
    (op, _) = parse_module(program(text)).functions["main"].body.ops
    assert not isinstance(op.attributes["permutation"], DenseArrayAttr)
    assert text in str(parse_module(program(text)))


NARROW = """func.func @main(%a: tensor<4x5xf32>) -> tensor<5x4xf32> {
  %0 = "stablehlo.transpose"(%a) <{permutation = dense<[1, 0]> : tensor<2xi4>}> : (tensor<4x5xf32>) -> tensor<5x4xf32>
  return %0 : tensor<5x4xf32>
}
"""


def test_lists_of_four_bits_are_read_by_a_process_that_has_read_none() -> None:
    command = [sys.executable, "-c", "import shlo_disc, sys; shlo_disc.verify(shlo_disc.parse(sys.argv[1]))", NARROW]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
