// RUN: gradc opt %s --pass-pipeline='builtin.module(func.func(fuse,bufferize,release,loops))' --pretty | filecheck %s

// A product is a BLAS call on views of the buffers; a transposed operand is a view with its strides
// swapped, and no element is moved.
// CHECK-LABEL: func.func @folded
// CHECK:         memref.reinterpret_cast %x0 {to = memref<30x20xf64, strided<[1, 30]>>
// CHECK:         kernel.gemm_call
// CHECK:         kernel.gemm_call
// CHECK-NOT:     memref.load
"builtin.module"() ({
  "func.func"() ({
  ^bb0(%x0: tensor<20x30xf64>, %x1: tensor<20x40xf64>, %x2: tensor<30x20xf64>):
    %0 = "nd.transpose"(%x0) {perm = [1 : i64, 0 : i64]} : (tensor<20x30xf64>) -> tensor<30x20xf64>
    %1 = "nd.dot_general"(%0, %x1) {contract = [[1 : i64], [0 : i64]]} : (tensor<30x20xf64>, tensor<20x40xf64>) -> tensor<30x40xf64>
    %2 = "nd.dot_general"(%x2, %x1) {contract = [[1 : i64], [0 : i64]]} : (tensor<30x20xf64>, tensor<20x40xf64>) -> tensor<30x40xf64>
    %3 = "nd.transpose"(%2) {perm = [1 : i64, 0 : i64]} : (tensor<30x40xf64>) -> tensor<40x30xf64>
    "func.return"(%1, %3) : (tensor<30x40xf64>, tensor<40x30xf64>) -> ()
  }) {sym_name = "folded", function_type = (tensor<20x30xf64>, tensor<20x40xf64>, tensor<30x20xf64>) -> (tensor<30x40xf64>, tensor<40x30xf64>)} : () -> ()
}) : () -> ()
