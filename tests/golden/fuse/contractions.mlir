// RUN: gradc opt %s --pass-pipeline='builtin.module(func.func(fuse))' --pretty | filecheck %s

// Transposes of operands and results become axis numbers of the product, a sum of two products
// accumulates onto the first, and a small product is a nest.
// CHECK-LABEL: func.func @folded
// CHECK-NEXT:    kernel.contract %x0, %x1 {contract = {{\[\[}}0], [0]], {{.*}}perm = [0, 1]}
// CHECK-NEXT:    kernel.contract %x2, %x1 {contract = {{\[\[}}1], [0]], {{.*}}perm = [1, 0]}
// CHECK-NEXT:    func.return
// CHECK-LABEL: func.func @added
// CHECK-NEXT:    %[[FIRST:[0-9]+]] = kernel.contract %x0, %x1
// CHECK-NEXT:    kernel.contract %x2, %x1, %[[FIRST]] {{.*}}accumulate = true
// CHECK-NEXT:    func.return
// CHECK-LABEL: func.func @small
// CHECK-NEXT:    kernel.generic (%d0 < 3, %d1 < 4) -> (add [%d0])
// CHECK-NOT:     kernel.contract
"builtin.module"() ({
  "func.func"() ({
  ^bb0(%x0: tensor<20x30xf64>, %x1: tensor<20x40xf64>, %x2: tensor<30x20xf64>):
    %0 = "nd.transpose"(%x0) {perm = [1 : i64, 0 : i64]} : (tensor<20x30xf64>) -> tensor<30x20xf64>
    %1 = "nd.dot_general"(%0, %x1) {contract = [[1 : i64], [0 : i64]]} : (tensor<30x20xf64>, tensor<20x40xf64>) -> tensor<30x40xf64>
    %2 = "nd.dot_general"(%x2, %x1) {contract = [[1 : i64], [0 : i64]]} : (tensor<30x20xf64>, tensor<20x40xf64>) -> tensor<30x40xf64>
    %3 = "nd.transpose"(%2) {perm = [1 : i64, 0 : i64]} : (tensor<30x40xf64>) -> tensor<40x30xf64>
    "func.return"(%1, %3) : (tensor<30x40xf64>, tensor<40x30xf64>) -> ()
  }) {sym_name = "folded", function_type = (tensor<20x30xf64>, tensor<20x40xf64>, tensor<30x20xf64>) -> (tensor<30x40xf64>, tensor<40x30xf64>)} : () -> ()
  "func.func"() ({
  ^bb0(%x0: tensor<30x20xf64>, %x1: tensor<20x40xf64>, %x2: tensor<30x20xf64>):
    %0 = "nd.dot_general"(%x0, %x1) {contract = [[1 : i64], [0 : i64]]} : (tensor<30x20xf64>, tensor<20x40xf64>) -> tensor<30x40xf64>
    %1 = "nd.dot_general"(%x2, %x1) {contract = [[1 : i64], [0 : i64]]} : (tensor<30x20xf64>, tensor<20x40xf64>) -> tensor<30x40xf64>
    %2 = "nd.add"(%0, %1) : (tensor<30x40xf64>, tensor<30x40xf64>) -> tensor<30x40xf64>
    "func.return"(%2) : (tensor<30x40xf64>) -> ()
  }) {sym_name = "added", function_type = (tensor<30x20xf64>, tensor<20x40xf64>, tensor<30x20xf64>) -> tensor<30x40xf64>} : () -> ()
  "func.func"() ({
  ^bb0(%x0: tensor<3x4xf64>, %x1: tensor<4xf64>):
    %0 = "nd.dot_general"(%x0, %x1) {contract = [[1 : i64], [0 : i64]]} : (tensor<3x4xf64>, tensor<4xf64>) -> tensor<3xf64>
    "func.return"(%0) : (tensor<3xf64>) -> ()
  }) {sym_name = "small", function_type = (tensor<3x4xf64>, tensor<4xf64>) -> tensor<3xf64>} : () -> ()
}) : () -> ()
