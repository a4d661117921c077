// RUN: gradc opt %s --pretty | filecheck %s

// CHECK:      %0 = kernel.generic (%i < 4, %j < 3) -> (add [%j]) : tensor<3xf32> {
// CHECK-NEXT:   %1 = kernel.load %x[%i, %j * 2 + 1] : tensor<4x8xf32>
// CHECK-NEXT:   %2 = kernel.index %i - 1 : tensor<f32>
// CHECK-NEXT:   %3 = nd.mul %1, %2 : tensor<f32>
// CHECK-NEXT:   kernel.yield %3 : tensor<f32>
// CHECK-NEXT: }
"builtin.module"() ({
  "func.func"() ({
  ^bb0(%x: tensor<4x8xf32>):
    %0 = "kernel.generic"() ({
    ^bb0(%i: index, %j: index):
      %1 = "kernel.load"(%x, %i, %j) {map = affine_map<(d0, d1) -> (d0, d1 * 2 + 1)>} : (tensor<4x8xf32>, index, index) -> tensor<f32>
      %2 = "kernel.index"(%i) {map = affine_map<(d0) -> (d0 - 1)>, dtype = f32} : (index) -> tensor<f32>
      %3 = "nd.mul"(%1, %2) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "kernel.yield"(%3) : (tensor<f32>) -> ()
    }) {sizes = [4 : i64, 3 : i64], outputs = [["add", affine_map<(d0, d1) -> (d1)>]]} : () -> tensor<3xf32>
    "func.return"(%0) : (tensor<3xf32>) -> ()
  }) {sym_name = "f", function_type = (tensor<4x8xf32>) -> tensor<3xf32>} : () -> ()
}) : () -> ()
