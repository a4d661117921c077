// RUN: gradc opt %s --pass-pipeline='builtin.module(func.func(canonicalize))' --pretty | filecheck %s

// Constants are computed in their own type: 0.1 + 0.2 in f32, and wrap-around in i8.
// CHECK-LABEL: func.func @constants
// CHECK-DAG:     nd.constant 0.30000001192092896 : tensor<4xf32>
// CHECK-DAG:     nd.constant -128 : tensor<i8>
// CHECK-NOT:     nd.add
// CHECK:         func.return

// A constant stands second; what adds nothing goes, but x + 0.0 stays: it turns -0.0 into 0.0.
// CHECK-LABEL: func.func @units
// CHECK:         [[ZERO:%[0-9]+]] = nd.constant 0.0
// CHECK-NEXT:    [[SUM:%[0-9]+]] = nd.add %x, [[ZERO]]
// CHECK-NEXT:    func.return [[SUM]], %x, %x

// Index maps of one number, and index maps that undo each other.
// CHECK-LABEL: func.func @moves
// CHECK-NEXT:    [[TWO:%[0-9]+]] = nd.constant 2.0 : tensor<3x2xf64>
// CHECK-NEXT:    func.return [[TWO]], %x
"builtin.module"() ({
  "func.func"() ({
    %0 = "nd.constant"() {value = 0.1 : f64, type = tensor<4xf32>} : () -> tensor<4xf32>
    %1 = "nd.constant"() {value = 0.2 : f64, type = tensor<f32>} : () -> tensor<f32>
    %2 = "nd.broadcast"(%1) {shape = [4], dims = []} : (tensor<f32>) -> tensor<4xf32>
    %3 = "nd.add"(%0, %2) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %4 = "nd.constant"() {value = 127 : i64, type = tensor<i8>} : () -> tensor<i8>
    %5 = "nd.constant"() {value = 1 : i64, type = tensor<i8>} : () -> tensor<i8>
    %6 = "nd.add"(%4, %5) : (tensor<i8>, tensor<i8>) -> tensor<i8>
    "func.return"(%3, %6) : (tensor<4xf32>, tensor<i8>) -> ()
  }) {sym_name = "constants", function_type = () -> (tensor<4xf32>, tensor<i8>)} : () -> ()
  "func.func"() ({
  ^bb0(%x: tensor<4xf64>):
    %0 = "nd.constant"() {value = 0.0 : f64, type = tensor<4xf64>} : () -> tensor<4xf64>
    %1 = "nd.constant"() {value = 1.0 : f64, type = tensor<4xf64>} : () -> tensor<4xf64>
    %2 = "nd.add"(%0, %x) : (tensor<4xf64>, tensor<4xf64>) -> tensor<4xf64>
    %3 = "nd.sub"(%x, %0) : (tensor<4xf64>, tensor<4xf64>) -> tensor<4xf64>
    %4 = "nd.mul"(%1, %x) : (tensor<4xf64>, tensor<4xf64>) -> tensor<4xf64>
    "func.return"(%2, %3, %4) : (tensor<4xf64>, tensor<4xf64>, tensor<4xf64>) -> ()
  }) {sym_name = "units", function_type = (tensor<4xf64>) -> (tensor<4xf64>, tensor<4xf64>, tensor<4xf64>)} : () -> ()
  "func.func"() ({
  ^bb0(%x: tensor<2x3xf64>):
    %0 = "nd.constant"() {value = 2.0 : f64, type = tensor<2x3xf64>} : () -> tensor<2x3xf64>
    %1 = "nd.transpose"(%0) {perm = [1, 0]} : (tensor<2x3xf64>) -> tensor<3x2xf64>
    %2 = "nd.transpose"(%x) {perm = [1, 0]} : (tensor<2x3xf64>) -> tensor<3x2xf64>
    %3 = "nd.transpose"(%2) {perm = [1, 0]} : (tensor<3x2xf64>) -> tensor<2x3xf64>
    "func.return"(%1, %3) : (tensor<3x2xf64>, tensor<2x3xf64>) -> ()
  }) {sym_name = "moves", function_type = (tensor<2x3xf64>) -> (tensor<3x2xf64>, tensor<2x3xf64>)} : () -> ()
}) : () -> ()
