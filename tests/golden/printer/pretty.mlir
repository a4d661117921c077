// RUN: gradc opt %s --pretty | filecheck %s
// RUN: gradc opt %s --pretty --locations | filecheck %s --check-prefix=PLACE

// CHECK:      builtin.module {
// CHECK-NEXT:   func.func @f(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<3x4xf32>, tensor<f32>) {
// CHECK-NEXT:     %0 = nd.add %x, %y : tensor<4xf32>
// CHECK-NEXT:     %two = nd.constant 2.0 : tensor<4xf32>
// CHECK-NEXT:     %1 = nd.mul %0, %two : tensor<4xf32>
// CHECK-NEXT:     %total = nd.reduce_sum %1 {axes = [0]} : tensor<4xf32> -> tensor<f32>
// CHECK-NEXT:     %2 = nd.broadcast %1 {dims = [1]} : tensor<4xf32> -> tensor<3x4xf32>
// CHECK-NEXT:     func.return %2, %total : tensor<3x4xf32>, tensor<f32>
// CHECK-NEXT:   }
// CHECK-NEXT: }
// PLACE:     func.func @f({{.*}} {  // model.py:1
// PLACE:     nd.mul {{.*}}  // model.py:3 (in the backward pass)
"builtin.module"() ({
  "func.func"() ({
  ^bb0(%x: tensor<4xf32>, %y: tensor<4xf32>):
    %0 = "nd.add"(%x, %y) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %two = "nd.constant"() {value = 2.0 : f64, type = tensor<4xf32>} : () -> tensor<4xf32>
    %1 = "nd.mul"(%0, %two) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> loc("backward"("model.py":3:5))
    %total = "nd.reduce_sum"(%1) {axes = [0 : i64]} : (tensor<4xf32>) -> tensor<f32>
    %2 = "nd.broadcast"(%1) {shape = [3 : i64, 4 : i64], dims = [1 : i64]} : (tensor<4xf32>) -> tensor<3x4xf32>
    "func.return"(%2, %total) : (tensor<3x4xf32>, tensor<f32>) -> ()
  }) {sym_name = "f", function_type = (tensor<4xf32>, tensor<4xf32>) -> (tensor<3x4xf32>, tensor<f32>)} : () -> () loc("model.py":1:1)
}) : () -> ()
