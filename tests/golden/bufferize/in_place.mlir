// RUN: gradc opt %s --pass-pipeline='builtin.module(func.func(fuse,bufferize))' --pretty | filecheck %s

// An elementwise kernel writes over the operand that dies there, a product accumulates in the buffer of
// its start (here the result itself), a reshape of the result is another view of it.
// CHECK-LABEL: func.func @layers
// CHECK-NEXT:    %[[H:[0-9]+]] = mem.alloc : memref<32x32xf64>
// CHECK-NEXT:    kernel.contract %x0, %x1, %[[H]]
// CHECK-NEXT:    kernel.generic {{.*}} -> (%[[H]] = [%d0, %d1])
// CHECK:           nd.tanh
// CHECK:         kernel.contract %[[H]], %x1, %out_0
// CHECK-NEXT:    func.return
// CHECK-LABEL: func.func @added
// CHECK-NOT:     mem.alloc
// CHECK:         kernel.contract %x0, %x1, %out_0
// CHECK-NEXT:    kernel.contract %x2, %x1, %out_0, %out_0 {{.*}}accumulate = true
// CHECK-LABEL: func.func @merged
// CHECK-NEXT:    %[[VIEW:[0-9]+]] = mem.alias %out_0
// CHECK-NEXT:    kernel.contract %x0, %x1, %[[VIEW]]
// CHECK-NOT:     mem.copy
"builtin.module"() ({
  "func.func"() ({
  ^bb0(%x0: tensor<32x32xf64>, %x1: tensor<32x32xf64>):
    %0 = "nd.dot_general"(%x0, %x1) {contract = [[1 : i64], [0 : i64]]} : (tensor<32x32xf64>, tensor<32x32xf64>) -> tensor<32x32xf64>
    %1 = "nd.tanh"(%0) : (tensor<32x32xf64>) -> tensor<32x32xf64>
    %2 = "nd.dot_general"(%1, %x1) {contract = [[1 : i64], [0 : i64]]} : (tensor<32x32xf64>, tensor<32x32xf64>) -> tensor<32x32xf64>
    "func.return"(%2) : (tensor<32x32xf64>) -> ()
  }) {sym_name = "layers", function_type = (tensor<32x32xf64>, tensor<32x32xf64>) -> tensor<32x32xf64>} : () -> ()
  "func.func"() ({
  ^bb0(%x0: tensor<30x20xf64>, %x1: tensor<20x40xf64>, %x2: tensor<30x20xf64>):
    %0 = "nd.dot_general"(%x0, %x1) {contract = [[1 : i64], [0 : i64]]} : (tensor<30x20xf64>, tensor<20x40xf64>) -> tensor<30x40xf64>
    %1 = "nd.dot_general"(%x2, %x1) {contract = [[1 : i64], [0 : i64]]} : (tensor<30x20xf64>, tensor<20x40xf64>) -> tensor<30x40xf64>
    %2 = "nd.add"(%0, %1) : (tensor<30x40xf64>, tensor<30x40xf64>) -> tensor<30x40xf64>
    "func.return"(%2) : (tensor<30x40xf64>) -> ()
  }) {sym_name = "added", function_type = (tensor<30x20xf64>, tensor<20x40xf64>, tensor<30x20xf64>) -> tensor<30x40xf64>} : () -> ()
  "func.func"() ({
  ^bb0(%x0: tensor<32x32xf64>, %x1: tensor<32x32xf64>):
    %0 = "nd.dot_general"(%x0, %x1) {contract = [[1 : i64], [0 : i64]]} : (tensor<32x32xf64>, tensor<32x32xf64>) -> tensor<32x32xf64>
    %1 = "nd.reshape"(%0) {shape = [1024 : i64]} : (tensor<32x32xf64>) -> tensor<1024xf64>
    "func.return"(%1) : (tensor<1024xf64>) -> ()
  }) {sym_name = "merged", function_type = (tensor<32x32xf64>, tensor<32x32xf64>) -> tensor<1024xf64>} : () -> ()
}) : () -> ()
