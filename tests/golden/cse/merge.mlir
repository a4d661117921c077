// RUN: gradc opt %s --pass-pipeline='builtin.module(func.func(cse))' --pretty | filecheck %s

// Equal operations merge, commutative ones in either order; others keep the order of their operands.
// CHECK-LABEL: func.func @operands
// CHECK-NEXT:    [[SUM:%[0-9]+]] = nd.add %x, %y
// CHECK-NEXT:    [[ONE:%[0-9]+]] = nd.sub %x, %y
// CHECK-NEXT:    [[TWO:%[0-9]+]] = nd.sub %y, %x
// CHECK-NEXT:    func.return [[SUM]], [[SUM]], [[ONE]], [[TWO]]

// Attributes are compared by what they hold: 0.0 and -0.0 differ, equal arrays are equal.
// CHECK-LABEL: func.func @attributes
// CHECK-NEXT:    [[PLUS:%[0-9]+]] = nd.constant 0.0
// CHECK-NEXT:    [[MINUS:%[0-9]+]] = nd.constant -0.0
// CHECK-NEXT:    [[ARRAY:%[0-9]+]] = nd.constant
// CHECK-NEXT:    func.return [[PLUS]], [[MINUS]], [[PLUS]], [[ARRAY]], [[ARRAY]]

// A loop's body sees what stands before the loop, not what stands in another loop; stores never merge.
// CHECK-LABEL: func.func @loops
// CHECK-NEXT:    [[A:%[0-9]+]] = arith.addf %a, %a
// CHECK-NEXT:    scf.for
// CHECK:           [[B:%[0-9]+]] = arith.mulf %a, %a
// CHECK-NEXT:      memref.store [[A]]
// CHECK-NEXT:      memref.store [[B]]
// CHECK-NEXT:      memref.store [[B]]
// CHECK:         scf.for
// CHECK:           [[C:%[0-9]+]] = arith.mulf %a, %a
// CHECK-NEXT:      memref.store [[C]]
"builtin.module"() ({
  "func.func"() ({
  ^bb0(%x: tensor<4xf64>, %y: tensor<4xf64>):
    %0 = "nd.add"(%x, %y) : (tensor<4xf64>, tensor<4xf64>) -> tensor<4xf64>
    %1 = "nd.add"(%y, %x) : (tensor<4xf64>, tensor<4xf64>) -> tensor<4xf64>
    %2 = "nd.sub"(%x, %y) : (tensor<4xf64>, tensor<4xf64>) -> tensor<4xf64>
    %3 = "nd.sub"(%y, %x) : (tensor<4xf64>, tensor<4xf64>) -> tensor<4xf64>
    "func.return"(%0, %1, %2, %3) : (tensor<4xf64>, tensor<4xf64>, tensor<4xf64>, tensor<4xf64>) -> ()
  }) {sym_name = "operands", function_type = (tensor<4xf64>, tensor<4xf64>) -> (tensor<4xf64>, tensor<4xf64>, tensor<4xf64>, tensor<4xf64>)} : () -> ()
  "func.func"() ({
    %0 = "nd.constant"() {value = 0.0 : f64, type = tensor<2xf64>} : () -> tensor<2xf64>
    %1 = "nd.constant"() {value = -0.0 : f64, type = tensor<2xf64>} : () -> tensor<2xf64>
    %2 = "nd.constant"() {value = 0.0 : f64, type = tensor<2xf64>} : () -> tensor<2xf64>
    %3 = "nd.constant"() {value = dense<[1.0, 2.0]> : tensor<2xf64>, type = tensor<2xf64>} : () -> tensor<2xf64>
    %4 = "nd.constant"() {value = dense<[1.0, 2.0]> : tensor<2xf64>, type = tensor<2xf64>} : () -> tensor<2xf64>
    "func.return"(%0, %1, %2, %3, %4) : (tensor<2xf64>, tensor<2xf64>, tensor<2xf64>, tensor<2xf64>, tensor<2xf64>) -> ()
  }) {sym_name = "attributes", function_type = () -> (tensor<2xf64>, tensor<2xf64>, tensor<2xf64>, tensor<2xf64>, tensor<2xf64>)} : () -> ()
  "func.func"() ({
  ^bb0(%m: memref<4xf64>, %a: f64, %zero: index, %one: index, %four: index):
    %0 = "arith.addf"(%a, %a) : (f64, f64) -> f64
    "scf.for"(%zero, %four, %one) ({
    ^bb1(%i: index):
      %1 = "arith.addf"(%a, %a) : (f64, f64) -> f64
      %2 = "arith.mulf"(%a, %a) : (f64, f64) -> f64
      "memref.store"(%1, %m, %i) : (f64, memref<4xf64>, index) -> ()
      "memref.store"(%2, %m, %i) : (f64, memref<4xf64>, index) -> ()
      "memref.store"(%2, %m, %i) : (f64, memref<4xf64>, index) -> ()
      "scf.yield"() : () -> ()
    }) : (index, index, index) -> ()
    "scf.for"(%zero, %four, %one) ({
    ^bb2(%i: index):
      %3 = "arith.mulf"(%a, %a) : (f64, f64) -> f64
      "memref.store"(%3, %m, %i) : (f64, memref<4xf64>, index) -> ()
      "scf.yield"() : () -> ()
    }) : (index, index, index) -> ()
    "func.return"() : () -> ()
  }) {sym_name = "loops", function_type = (memref<4xf64>, f64, index, index, index) -> ()} : () -> ()
}) : () -> ()
