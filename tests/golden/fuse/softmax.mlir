// RUN: gradc opt %s --pass-pipeline='builtin.module(func.func(fuse))' --pretty | filecheck %s

// A row-wise softmax is one fusion: its three nests share the loop over rows, and the exponentials are
// computed once, in the nest that sums them.
// CHECK-LABEL: func.func @softmax
// CHECK-NEXT:    kernel.fusion
// CHECK-NEXT:      kernel.generic (%d0 < 40, %d1 < 30) -> (maximum [%d0])
// CHECK:           kernel.generic (%d0 < 40, %d1 < 30) -> (add [%d0], [%d0, %d1])
// CHECK:             nd.exp
// CHECK-NOT:         nd.exp
// CHECK:           kernel.generic (%d0 < 40, %d1 < 30) -> ([%d0, %d1])
// CHECK:             nd.div
// CHECK:           kernel.yield %{{[0-9]+}} : tensor<40x30xf64>
// CHECK-NEXT:    }
// CHECK-NEXT:    func.return
"builtin.module"() ({
  "func.func"() ({
  ^bb0(%x0: tensor<40x30xf64>):
    %0 = "nd.reduce_max"(%x0) {axes = [1 : i64]} : (tensor<40x30xf64>) -> tensor<40xf64>
    %1 = "nd.broadcast"(%0) {shape = [40 : i64, 30 : i64], dims = [0 : i64]} : (tensor<40xf64>) -> tensor<40x30xf64>
    %2 = "nd.sub"(%x0, %1) : (tensor<40x30xf64>, tensor<40x30xf64>) -> tensor<40x30xf64>
    %3 = "nd.exp"(%2) : (tensor<40x30xf64>) -> tensor<40x30xf64>
    %4 = "nd.reduce_sum"(%3) {axes = [1 : i64]} : (tensor<40x30xf64>) -> tensor<40xf64>
    %5 = "nd.broadcast"(%4) {shape = [40 : i64, 30 : i64], dims = [0 : i64]} : (tensor<40xf64>) -> tensor<40x30xf64>
    %6 = "nd.div"(%3, %5) : (tensor<40x30xf64>, tensor<40x30xf64>) -> tensor<40x30xf64>
    "func.return"(%6) : (tensor<40x30xf64>) -> ()
  }) {sym_name = "softmax", function_type = (tensor<40x30xf64>) -> tensor<40x30xf64>} : () -> ()
}) : () -> ()
