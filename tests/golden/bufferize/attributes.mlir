// RUN: gradc opt %s --pass-pipeline='builtin.module(func.func(fuse,bufferize))' --pretty | filecheck %s

// A size known at run time has storage for its upper bound; constants become arguments. What later
// stages need to know of them stands in attributes.
// CHECK-LABEL: func.func @chosen(%x0: memref<6xf64>, %out_0: memref<6xf64>, %arg2: memref<6xf64>)
// CHECK-SAME:    constants = [dense<[0.0, 1.0, 2.0, 3.0, 4.0, 5.0]>]
// CHECK-SAME:    capacities = {n0 = 6}
// CHECK-SAME:    output_sizes = ["n0"]
// CHECK:         kernel.load %arg2[%d0]
// CHECK:         kernel.apply {{.*}}op = "nd.nonzero"
// CHECK:         kernel.generic (%d0 < ?n0) -> (%out_0 = [%d0])
"builtin.module"() ({
  "func.func"() ({
  ^bb0(%x0: tensor<6xf64>):
    %0 = "nd.constant"() {value = 0.0 : f64, type = tensor<6xf64>} : () -> tensor<6xf64>
    %1 = "nd.gt"(%x0, %0) : (tensor<6xf64>, tensor<6xf64>) -> tensor<6xi1>
    %2 = "nd.nonzero"(%1) {size = "n0"} : (tensor<6xi1>) -> tensor<?xi64, ["n0"]>
    %3 = "nd.constant"() {value = dense<[0.0, 1.0, 2.0, 3.0, 4.0, 5.0]> : tensor<6xf64>, type = tensor<6xf64>} : () -> tensor<6xf64>
    %4 = "nd.add"(%x0, %3) : (tensor<6xf64>, tensor<6xf64>) -> tensor<6xf64>
    %5 = "nd.gather"(%4, %2) {axes = [0 : i64]} : (tensor<6xf64>, tensor<?xi64, ["n0"]>) -> tensor<?xf64, ["n0"]>
    "func.return"(%5) : (tensor<?xf64, ["n0"]>) -> ()
  }) {sym_name = "chosen", function_type = (tensor<6xf64>) -> tensor<?xf64, ["n0"]>} : () -> ()
}) : () -> ()
