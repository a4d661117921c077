// RUN: gradc opt %s --pass-pipeline='builtin.module(func.func(fuse,bufferize,release))' --pretty | filecheck %s

// A buffer is freed after its last use and its bytes are given out again: of three intermediate
// matrices of 8192 bytes two are alive at once.
// CHECK-LABEL: func.func @chain
// CHECK-SAME:    arena_bytes = 16384
// CHECK-NEXT:    %[[A:[0-9]+]] = mem.alloc {offset = 0}
// CHECK-NEXT:    kernel.contract %x0, %x1, %[[A]]
// CHECK-NEXT:    %[[B:[0-9]+]] = mem.alloc {offset = 8192}
// CHECK-NEXT:    kernel.contract %[[A]], %x1, %[[B]]
// CHECK-NEXT:    mem.free %[[A]]
// CHECK-NEXT:    %[[C:[0-9]+]] = mem.alloc {offset = 0}
// CHECK-NEXT:    kernel.contract %[[B]], %x1, %[[C]]
// CHECK-NEXT:    mem.free %[[B]]
// CHECK-NEXT:    kernel.contract %[[C]], %x1, %out_0
// CHECK-NEXT:    mem.free %[[C]]
// CHECK-NEXT:    func.return
// CHECK-LABEL: func.func @layers
// CHECK-SAME:    arena_bytes = 8192
"builtin.module"() ({
  "func.func"() ({
  ^bb0(%x0: tensor<32x32xf64>, %x1: tensor<32x32xf64>):
    %0 = "nd.dot_general"(%x0, %x1) {contract = [[1 : i64], [0 : i64]]} : (tensor<32x32xf64>, tensor<32x32xf64>) -> tensor<32x32xf64>
    %1 = "nd.dot_general"(%0, %x1) {contract = [[1 : i64], [0 : i64]]} : (tensor<32x32xf64>, tensor<32x32xf64>) -> tensor<32x32xf64>
    %2 = "nd.dot_general"(%1, %x1) {contract = [[1 : i64], [0 : i64]]} : (tensor<32x32xf64>, tensor<32x32xf64>) -> tensor<32x32xf64>
    %3 = "nd.dot_general"(%2, %x1) {contract = [[1 : i64], [0 : i64]]} : (tensor<32x32xf64>, tensor<32x32xf64>) -> tensor<32x32xf64>
    "func.return"(%3) : (tensor<32x32xf64>) -> ()
  }) {sym_name = "chain", function_type = (tensor<32x32xf64>, tensor<32x32xf64>) -> tensor<32x32xf64>} : () -> ()
  "func.func"() ({
  ^bb0(%x0: tensor<32x32xf64>, %x1: tensor<32x32xf64>):
    %0 = "nd.dot_general"(%x0, %x1) {contract = [[1 : i64], [0 : i64]]} : (tensor<32x32xf64>, tensor<32x32xf64>) -> tensor<32x32xf64>
    %1 = "nd.tanh"(%0) : (tensor<32x32xf64>) -> tensor<32x32xf64>
    %2 = "nd.dot_general"(%1, %x1) {contract = [[1 : i64], [0 : i64]]} : (tensor<32x32xf64>, tensor<32x32xf64>) -> tensor<32x32xf64>
    "func.return"(%2) : (tensor<32x32xf64>) -> ()
  }) {sym_name = "layers", function_type = (tensor<32x32xf64>, tensor<32x32xf64>) -> tensor<32x32xf64>} : () -> ()
}) : () -> ()
