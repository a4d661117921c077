// RUN: gradc opt %s --pass-pipeline='builtin.module(func.func(dce))' --pretty | filecheck %s

// A chain that nobody uses goes at once, effects stay, and so does a loop that has them.
// CHECK-LABEL: func.func @chain
// CHECK-NEXT:    nd.exp %x
// CHECK-NEXT:    func.return
// CHECK-LABEL: func.func @stores
// CHECK:         scf.for
// CHECK:           memref.store
// CHECK-NOT:     arith.addf
"builtin.module"() ({
  "func.func"() ({
  ^bb0(%x: tensor<4xf64>):
    %0 = "nd.exp"(%x) : (tensor<4xf64>) -> tensor<4xf64>
    %1 = "nd.sin"(%x) : (tensor<4xf64>) -> tensor<4xf64>
    %2 = "nd.mul"(%1, %0) : (tensor<4xf64>, tensor<4xf64>) -> tensor<4xf64>
    %3 = "nd.neg"(%2) : (tensor<4xf64>) -> tensor<4xf64>
    "func.return"(%0) : (tensor<4xf64>) -> ()
  }) {sym_name = "chain", function_type = (tensor<4xf64>) -> tensor<4xf64>} : () -> ()
  "func.func"() ({
  ^bb0(%m: memref<4xf64>, %a: f64, %zero: index, %one: index, %four: index):
    "scf.for"(%zero, %four, %one) ({
    ^bb1(%i: index):
      %unused = "arith.addf"(%a, %a) : (f64, f64) -> f64
      "memref.store"(%a, %m, %i) : (f64, memref<4xf64>, index) -> ()
      "scf.yield"() : () -> ()
    }) : (index, index, index) -> ()
    %sum = "scf.for"(%zero, %four, %one, %a) ({
    ^bb2(%i: index, %s: f64):
      %next = "arith.addf"(%s, %a) : (f64, f64) -> f64
      "scf.yield"(%next) : (f64) -> ()
    }) : (index, index, index, f64) -> f64
    "func.return"() : () -> ()
  }) {sym_name = "stores", function_type = (memref<4xf64>, f64, index, index, index) -> ()} : () -> ()
}) : () -> ()
