// while I1 | %x: tuple<tensor<f32>>, %p: tensor<i1>
%0 = "stablehlo.while"(%x) ({
^bb0(%a: tuple<tensor<f32>>):
  stablehlo.return %p : tensor<i1>
}, {
^bb0(%a: tuple<tensor<f32>>):
  stablehlo.return %a : tuple<tensor<f32>>
}) : (tuple<tensor<f32>>) -> tuple<tensor<f32>>
// -----
// while C1 | %x: tensor<i32>
%0 = stablehlo.while(%i = %x) : tensor<i32> cond {
  stablehlo.return %i : tensor<i32>
} do {
  stablehlo.return %i : tensor<i32>
}
// -----
// while C1 | %x: tensor<4xi1>
%0 = stablehlo.while(%i = %x) : tensor<4xi1> cond {
  stablehlo.return %i : tensor<4xi1>
} do {
  stablehlo.return %i : tensor<4xi1>
}
// -----
// while C1 | %x: tensor<i32>, %p: tensor<i1>
%0 = "stablehlo.while"(%x) ({
^bb0(%i: tensor<f32>):
  stablehlo.return %p : tensor<i1>
}, {
^bb0(%i: tensor<i32>):
  stablehlo.return %i : tensor<i32>
}) : (tensor<i32>) -> tensor<i32>
// -----
// while C2 | %x: tensor<?xi32>, %y: tensor<4x1xi32>, %p: tensor<i1>
%0 = stablehlo.while(%i = %x) : tensor<?xi32> cond {
  stablehlo.return %p : tensor<i1>
} do {
  stablehlo.return %y : tensor<4x1xi32>
}
// -----
// while C2 | %x: tensor<i32>, %p: tensor<i1>
%0 = stablehlo.while(%i = %x) : tensor<i32> cond {
  stablehlo.return %p : tensor<i1>
} do {
  stablehlo.return %i, %p : tensor<i32>, tensor<i1>
}
// -----
// while C3 | %x: tensor<4xi32>, %p: tensor<i1>
%0 = "stablehlo.while"(%x) ({
^bb0(%i: tensor<4xi32>):
  stablehlo.return %p : tensor<i1>
}, {
^bb0(%i: tensor<4xi32>):
  stablehlo.return %i : tensor<4xi32>
}) : (tensor<4xi32>) -> tensor<5xi32>
// -----
// if I1 | %p: tensor<i32>
"stablehlo.if"(%p) ({
  stablehlo.return
}, {
  stablehlo.return
}) : (tensor<i32>) -> ()
// -----
// if I1 | %p: tensor<1xi1>
"stablehlo.if"(%p) ({
  stablehlo.return
}, {
  stablehlo.return
}) : (tensor<1xi1>) -> ()
// -----
// if C1 | %p: tensor<i1>
"stablehlo.if"(%p) ({
  stablehlo.return
}, {
^bb0(%a: tensor<f32>):
  stablehlo.return
}) : (tensor<i1>) -> ()
// -----
// if C2 | %p: tensor<i1>, %x: tensor<f32>, %y: tensor<2xf32>
%0 = "stablehlo.if"(%p) ({
  stablehlo.return %x : tensor<f32>
}, {
  stablehlo.return %y : tensor<2xf32>
}) : (tensor<i1>) -> tensor<f32>
// -----
// if C3 | %p: tensor<i1>, %x: tensor<f32>
%0 = "stablehlo.if"(%p) ({
  stablehlo.return %x : tensor<f32>
}, {
  stablehlo.return %x : tensor<f32>
}) : (tensor<i1>) -> tensor<f64>
// -----
// if C3 | %p: tensor<i1>, %x: tuple<>
%0 = "stablehlo.if"(%p) ({
  stablehlo.return %x : tuple<>
}, {
  stablehlo.return %x : tuple<>
}) : (tensor<i1>) -> tuple<>
// -----
// case I1 | %i: tensor<i64>
"stablehlo.case"(%i) ({
  stablehlo.return
}) : (tensor<i64>) -> ()
// -----
// case I1 | %i: tensor<2xi32>
"stablehlo.case"(%i) ({
  stablehlo.return
}) : (tensor<2xi32>) -> ()
// -----
// case C2 | %i: tensor<i32>
"stablehlo.case"(%i) ({
^bb0(%a: tensor<i32>):
  stablehlo.return
}) : (tensor<i32>) -> ()
// -----
// case C3 | %i: tensor<i32>, %x: tensor<?xf32>, %y: tensor<2x?xf32>
%0 = "stablehlo.case"(%i) ({
  stablehlo.return %x : tensor<?xf32>
}, {
  stablehlo.return %x : tensor<?xf32>
}, {
  stablehlo.return %y : tensor<2x?xf32>
}) : (tensor<i32>) -> tensor<?xf32>
// -----
// case C4 | %i: tensor<i32>, %x: tensor<f32>
%0:2 = "stablehlo.case"(%i) ({
  stablehlo.return %x : tensor<f32>
}, {
  stablehlo.return %x : tensor<f32>
}) : (tensor<i32>) -> (tensor<f32>, tensor<f32>)
// -----
// composite I1
func.func @main(%x: memref<4xf32>) {
  stablehlo.composite "my.op" %x {decomposition = @f} : (memref<4xf32>) -> ()
  return
}
func.func private @f(%x: memref<4xf32>) {
  return
}
// -----
// composite I2
func.func @main() {
  "stablehlo.composite"() <{name = @f, decomposition = @f}> : () -> ()
  return
}
func.func private @f() {
  return
}
// -----
// composite I3
func.func @main() {
  "stablehlo.composite"() <{name = "my.op", composite_attributes = "a", decomposition = @f}> : () -> ()
  return
}
func.func private @f() {
  return
}
// -----
// composite I4
func.func @main() {
  "stablehlo.composite"() <{name = "my.op", decomposition = "f"}> : () -> ()
  return
}
func.func private @f() {
  return
}
// -----
// composite I5
func.func @main() {
  "stablehlo.composite"() <{name = "my.op", decomposition = @f, version = 1 : i64}> : () -> ()
  return
}
func.func private @f() {
  return
}
// -----
// composite C1
func.func @main() {
  stablehlo.composite "op" {decomposition = @f} : () -> ()
  return
}
func.func private @f() {
  return
}
// -----
// composite C2
module {
  "sdy.mesh"() <{mesh = #sdy.mesh<["x"=2]>, sym_name = "f"}> : () -> ()
  func.func @main() {
    stablehlo.composite "my.op" {decomposition = @f} : () -> ()
    return
  }
}
// -----
// composite C3
func.func @main(%x: tensor<4xf32>) {
  stablehlo.composite "my.op" %x {decomposition = @f} : (tensor<4xf32>) -> ()
  return
}
func.func private @f(%x: tensor<?xf32>) {
  return
}
// -----
// composite C4
func.func @main(%x: tensor<4xf32>) {
  stablehlo.composite "my.op" %x {decomposition = @f} : (tensor<4xf32>) -> ()
  return
}
func.func private @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
// -----
// custom_call I1 | %x: tensor<4xindex>
stablehlo.custom_call @foo(%x) : (tensor<4xindex>) -> ()
// -----
// custom_call I2 |
"stablehlo.custom_call"() <{call_target_name = 1 : i32}> : () -> ()
// -----
// custom_call I3 |
stablehlo.custom_call @foo() {has_side_effect = 1 : i32} : () -> ()
// -----
// custom_call I4 |
stablehlo.custom_call @foo() {api_version = 4 : i32, backend_config = ""} : () -> ()
// -----
// custom_call I4 |
stablehlo.custom_call @foo() {api_version = 2 : i32, backend_config = {}} : () -> ()
// -----
// custom_call I4 |
stablehlo.custom_call @foo() {backend_config = 1 : i32} : () -> ()
// -----
// custom_call I5 |
stablehlo.custom_call @foo() {api_version = 5 : i32} : () -> ()
// -----
// custom_call I5 |
stablehlo.custom_call @foo() {api_version = 2 : i64} : () -> ()
// -----
// custom_call I6 |
stablehlo.custom_call @foo() {called_computations = ["main"]} : () -> ()
// -----
// custom_call I6 |
stablehlo.custom_call @foo() {called_computations = @main} : () -> ()
// -----
// custom_call I7 | %x: tensor<2xf32>
%0 = stablehlo.custom_call @foo(%x) {output_operand_aliases = [
  #stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 1, operand_tuple_indices = []>
]} : (tensor<2xf32>) -> tensor<2xf32>
// -----
// custom_call I7 | %x: tensor<2xf32>
%0 = stablehlo.custom_call @foo(%x) {output_operand_aliases = [
  #stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 0, operand_tuple_indices = []>
]} : (tensor<2xf32>) -> tensor<3xf32>
// -----
// custom_call I7 | %x: tensor<2xf32>
%0:2 = stablehlo.custom_call @foo(%x) {output_operand_aliases = [
  #stablehlo.output_operand_alias<output_tuple_indices = [2], operand_index = 0, operand_tuple_indices = []>
]} : (tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>)
// -----
// custom_call I7 | %x: tensor<2xf32>
%0 = stablehlo.custom_call @foo(%x) {output_operand_aliases = [
  #stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 0, operand_tuple_indices = [0]>
]} : (tensor<2xf32>) -> tensor<2xf32>
// -----
// custom_call I7 | %x: tensor<2xf32>
%0 = stablehlo.custom_call @foo(%x) {output_operand_aliases = [1 : i32]} : (tensor<2xf32>) -> tensor<2xf32>
// -----
// custom_call C1 | %x: memref<2xf32>
%0 = stablehlo.custom_call @CreateBuffer(%x) {api_version = 4 : i32} : (memref<2xf32>) -> memref<2xf32>
// -----
// custom_call C1 |
%0 = stablehlo.custom_call @CreateBuffer() {api_version = 4 : i32} : () -> tensor<2xf32>
// -----
// custom_call C1 |
%0:2 = stablehlo.custom_call @CreateBuffer() {api_version = 4 : i32} : () -> (memref<2xf32>, memref<2xf32>)
// -----
// custom_call C1 | %x: memref<2xf32>
%0 = stablehlo.custom_call @Pin(%x) {api_version = 4 : i32} : (memref<2xf32>) -> memref<2xf32>
// -----
// custom_call C1 | %x: tensor<2xf32>
%0 = stablehlo.custom_call @Pin(%x) {api_version = 4 : i32} : (tensor<2xf32>) -> memref<3xf32>
// -----
// custom_call C1 | %x: tensor<2xf32>
%0 = stablehlo.custom_call @Pin(%x) {api_version = 4 : i32} : (tensor<2xf32>) -> memref<2xf16>
// -----
// custom_call C1 | %x: memref<2xf32>
%0 = stablehlo.custom_call @Unpin(%x) {api_version = 4 : i32} : (memref<2xf32>) -> memref<2xf32>
// -----
// custom_call C1 | %x: memref<2xf32>
stablehlo.custom_call @Unpin(%x) {api_version = 4 : i32} : (memref<2xf32>) -> ()
// -----
// custom_call C1 | %x: memref<2xf32>
%0 = stablehlo.custom_call @foo(%x) {api_version = 4 : i32} : (memref<2xf32>) -> memref<2xf32>
// -----
// custom_call C1 (jaxlib accepts) | %x: memref<2xf32>
%0:2 = stablehlo.custom_call @foo(%x) {api_version = 4 : i32, output_operand_aliases = [
  #stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>,
  #stablehlo.output_operand_alias<output_tuple_indices = [1], operand_index = 0, operand_tuple_indices = []>
]} : (memref<2xf32>) -> (memref<2xf32>, memref<2xf32>)
// -----
// custom_call I8 | %x: tensor<2xf32>
stablehlo.custom_call @foo(%x) {operand_layouts = dense<0> : tensor<1xindex>, result_layouts = []} : (tensor<2xf32>) -> ()
// -----
// custom_call I9 | %x: tensor<2xf32>
stablehlo.custom_call @foo(%x) {operand_layouts = [dense<0> : tensor<1xindex>], result_layouts = 1 : i32} : (tensor<2xf32>) -> ()
// -----
// custom_call C2 | %x: tensor<2xf32>
stablehlo.custom_call @foo(%x) {operand_layouts = [dense<0> : tensor<1xindex>]} : (tensor<2xf32>) -> ()
// -----
// custom_call C2 | %x: tensor<2xf32>
stablehlo.custom_call @foo(%x) {operand_layouts = [], result_layouts = []} : (tensor<2xf32>) -> ()
// -----
// custom_call C2 | %x: tensor<2x3xf32>
stablehlo.custom_call @foo(%x) {operand_layouts = [dense<0> : tensor<2xindex>], result_layouts = []} : (tensor<2x3xf32>) -> ()
// -----
// custom_call C2 | %x: tensor<2x3xf32>
stablehlo.custom_call @foo(%x) {operand_layouts = [dense<0> : tensor<1xindex>], result_layouts = []} : (tensor<2x3xf32>) -> ()
// -----
// custom_call C2 | %x: !stablehlo.token
stablehlo.custom_call @foo(%x) {operand_layouts = [dense<0> : tensor<1xindex>], result_layouts = []} : (!stablehlo.token) -> ()
// -----
// custom_call C2 | %x: tuple<>
stablehlo.custom_call @foo(%x) {operand_layouts = [dense<> : tensor<0xindex>], result_layouts = []} : (tuple<>) -> ()
// -----
// tuple I1 | %x: tensor<4xindex>
%0 = stablehlo.tuple %x : tuple<tensor<4xindex>>
// -----
// tuple C1 | %x: tensor<f32>, %y: tensor<i32>
%0 = "stablehlo.tuple"(%x, %y) : (tensor<f32>, tensor<i32>) -> tuple<tensor<i32>, tensor<f32>>
// -----
// get_tuple_element I1 | %x: tensor<f32>
%0 = stablehlo.get_tuple_element %x[0] : (tensor<f32>) -> tensor<f32>
// -----
// get_tuple_element I2 | %x: tuple<tensor<f32>>
%0 = "stablehlo.get_tuple_element"(%x) <{index = 0 : i64}> : (tuple<tensor<f32>>) -> tensor<f32>
// -----
// get_tuple_element C1 | %x: tuple<tensor<f32>, tensor<i32>>
%0 = stablehlo.get_tuple_element %x[2] : (tuple<tensor<f32>, tensor<i32>>) -> tensor<i32>
// -----
// get_tuple_element C1 | %x: tuple<tensor<f32>, tensor<i32>>
%0 = "stablehlo.get_tuple_element"(%x) <{index = -1 : i32}> : (tuple<tensor<f32>, tensor<i32>>) -> tensor<i32>
// -----
// get_tuple_element C2 | %x: tuple<tensor<f32>, tensor<i32>>
%0 = stablehlo.get_tuple_element %x[1] : (tuple<tensor<f32>, tensor<i32>>) -> tensor<f32>
// -----
// optimization_barrier I1 | %x: tuple<>
%0 = "stablehlo.optimization_barrier"(%x) : (tuple<>) -> tuple<>
// -----
// optimization_barrier C1 | %x: tensor<2xf32>
%0 = "stablehlo.optimization_barrier"(%x) : (tensor<2xf32>) -> tensor<3xf32>
// -----
// after_all I1 | %x: tensor<2xf32>
%0 = "stablehlo.after_all"(%x) : (tensor<2xf32>) -> !stablehlo.token
// -----
// after_all C1 | %x: !stablehlo.token
%0 = "stablehlo.after_all"(%x) : (!stablehlo.token) -> tensor<f32>
// -----
// create_token C1 |
%0 = "stablehlo.create_token"() : () -> tensor<f32>
// -----
// custom_call I7 | %x: tensor<2xf32>
%0 = stablehlo.custom_call @foo(%x) {output_operand_aliases = [
  #stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 0>
]} : (tensor<2xf32>) -> tensor<2xf32>
// -----
// optimization_barrier C1 | %x: tensor<2xf32>
%0 = "stablehlo.optimization_barrier"(%x) : (tensor<2xf32>) -> tensor<?xf32>
// -----
// custom_call I1 | %x: tuple<tuple<tensor<4xindex>>>
stablehlo.custom_call @foo(%x) : (tuple<tuple<tensor<4xindex>>>) -> ()
// -----
// return I1
func.func @main() {
  "stablehlo.composite"() <{name = "my.op", decomposition = @f}> ({
  ^bb0(%x: tuple<>):
    stablehlo.return %x : tuple<>
  }) : () -> ()
  return
}
func.func private @f()
