func.func @main(%n: tensor<i32>, %x: tensor<?xf32>, %y: tensor<4xf32>, %t: !stablehlo.token) {
  %0:3 = "stablehlo.while"(%n, %x, %t) ({
  ^bb0(%i: tensor<i32>, %a: tensor<4xf32>, %s: !stablehlo.token):
    %1 = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  }, {
  ^bb0(%i: tensor<i32>, %a: tensor<?xf32>, %s: !stablehlo.token):
    stablehlo.return %i, %y, %s : tensor<i32>, tensor<4xf32>, !stablehlo.token
  }) : (tensor<i32>, tensor<?xf32>, !stablehlo.token) -> (tensor<i32>, tensor<?xf32>, !stablehlo.token)
  return
}
// -----
func.func @main(%b: memref<4xf32>, %p: tensor<i1>) {
  %0 = stablehlo.while(%a = %b) : memref<4xf32> cond {
    stablehlo.return %p : tensor<i1>
  } do {
    %1 = stablehlo.custom_call @fill(%a) {api_version = 4 : i32, output_operand_aliases = [
      #stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 0, operand_tuple_indices = []>
    ]} : (memref<4xf32>) -> memref<4xf32>
    stablehlo.return %1 : memref<4xf32>
  }
  %2 = stablehlo.custom_call @Unpin(%0) {api_version = 4 : i32} : (memref<4xf32>) -> tensor<4xf32>
  %3 = stablehlo.custom_call @Pin(%2) {api_version = 4 : i32} : (tensor<4xf32>) -> memref<4xf32>
  %4 = stablehlo.custom_call @CreateBuffer() {api_version = 4 : i32} : () -> memref<2x?xi8>
  return
}
// -----
func.func @main(%i: tensor<i32>, %x: tensor<?xf32>, %y: tensor<4xf32>, %p: tensor<i1>) {
  %0 = "stablehlo.case"(%i) ({
    stablehlo.return %x : tensor<?xf32>
  }, {
    stablehlo.return %y : tensor<4xf32>
  }) : (tensor<i32>) -> tensor<?xf32>
  "stablehlo.if"(%p) ({
    stablehlo.return
  }, {
    stablehlo.return
  }) : (tensor<i1>) -> ()
  return
}
// -----
func.func @main(%x: tensor<2x3xf32>, %s: tensor<f32>, %t: !stablehlo.token) {
  %0 = stablehlo.custom_call @a(%x, %s, %t) {
    api_version = 4 : i32, backend_config = {a = 1 : i32}, called_computations = [@main], has_side_effect = true,
    operand_layouts = [dense<[0, 1]> : tensor<2xindex>, dense<> : tensor<0xindex>, dense<> : tensor<0xindex>],
    result_layouts = [dense<0> : tensor<1xindex>, dense<> : tensor<0xindex>]
  } : (tensor<2x3xf32>, tensor<f32>, !stablehlo.token) -> tuple<tensor<4xf32>, tensor<f32>>
  %1 = stablehlo.custom_call @b(%0) {
    mhlo.backend_config = {b = 1 : i32}, output_operand_aliases = [#stablehlo.output_operand_alias<
      output_tuple_indices = [0, 1], operand_index = 0, operand_tuple_indices = [1]>]
  } : (tuple<tensor<4xf32>, tensor<f32>>) -> tuple<tuple<tensor<i8>, tensor<f32>>>
  %2 = stablehlo.custom_call @c() {backend_config = "c"} : () -> tensor<*xf32>
  %3 = stablehlo.custom_call @d(%2) {api_version = 0 : i32} : (tensor<*xf32>) -> !stablehlo.future<tensor<f32>>
  return
}
// -----
func.func @main(%x: tensor<4xf32>, %t: !stablehlo.token) -> tensor<4xf32> {
  %0 = stablehlo.tuple %x, %t : tuple<tensor<4xf32>, !stablehlo.token>
  %1 = stablehlo.tuple %0 : tuple<tuple<tensor<4xf32>, !stablehlo.token>>
  %2 = stablehlo.get_tuple_element %1[0] : (tuple<tuple<tensor<4xf32>, !stablehlo.token>>) -> tuple<tensor<4xf32>, !stablehlo.token>
  %3:2 = stablehlo.optimization_barrier %x, %t : tensor<4xf32>, !stablehlo.token
  %4 = stablehlo.after_all : !stablehlo.token
  %5 = stablehlo.composite "a.b$c.d_e" %x, %4 {composite_attributes = {a = 1 : i64}, decomposition = @main, version = 3 : i32} : (tensor<4xf32>, !stablehlo.token) -> tensor<4xf32>
  %6:2 = stablehlo.composite "my.op" %x, %t {decomposition = @declared} : (tensor<4xf32>, !stablehlo.token) -> (tensor<4xf32>, !stablehlo.token)
  %7 = func.call @main(%x, %4) : (tensor<4xf32>, !stablehlo.token) -> tensor<4xf32>
  return %7 : tensor<4xf32>
}
func.func private @declared(tensor<4xf32>, !stablehlo.token) -> (tensor<4xf32>, !stablehlo.token)
