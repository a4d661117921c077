// RUN: gradc opt %s --pass-pipeline='builtin.module(func.func(cse,dce))' | filecheck %s
// RUN: gradc opt %s --pass-pipeline='builtin.module(func.func(cse,dce))' --print-ir-after-change --pretty 2>&1 \
// RUN:   | filecheck %s --check-prefix=CHANGE
// RUN: not gradc opt %s --pass-pipeline='builtin.module(func.func(cse,nonsense))' 2>&1 | filecheck %s --check-prefix=UNKNOWN

// CHECK:      ^bb0(%x: tensor<4xf32>):
// CHECK-NEXT:   %0 = "nd.mul"(%x, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:   %1 = "nd.add"(%0, %0) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:   "func.return"(%1) : (tensor<4xf32>) -> ()
// CHANGE:     // -----// IR after cse on @f //----- //
// CHANGE:     // -----// IR after dce on @f //----- //
// UNKNOWN:    expected a pass, got 'nonsense': the passes are
"builtin.module"() ({
  "func.func"() ({
  ^bb0(%x: tensor<4xf32>):
    %0 = "nd.mul"(%x, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %1 = "nd.mul"(%x, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %2 = "nd.neg"(%x) : (tensor<4xf32>) -> tensor<4xf32>
    %3 = "nd.add"(%0, %1) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    "func.return"(%3) : (tensor<4xf32>) -> ()
  }) {sym_name = "f", function_type = (tensor<4xf32>) -> tensor<4xf32>} : () -> ()
}) : () -> ()
