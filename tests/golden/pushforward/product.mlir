// RUN: gradc opt %s --pass-pipeline='builtin.module(pushforward{wrt=0,1})' --pretty | filecheck %s

// CHECK-LABEL: func.func @f_push(%x: tensor<4xf64>, %y: tensor<4xf64>, %x_tangent: tensor<4xf64>, %y_tangent: tensor<4xf64>)
// CHECK-NEXT:    [[Z:%[0-9]+]] = nd.mul %x, %y
// CHECK-DAG:     [[DX:%[0-9]+]] = nd.mul %x_tangent, %y
// CHECK-DAG:     [[DY:%[0-9]+]] = nd.mul %y_tangent, %x
// CHECK:         [[DZ:%[0-9]+]] = nd.add
// CHECK-NEXT:    [[SUM:%[0-9]+]] = nd.reduce_sum [[Z]]
// CHECK-NEXT:    [[TANGENT:%[0-9]+]] = nd.reduce_sum [[DZ]]
// CHECK-NEXT:    func.return [[SUM]], [[TANGENT]]
"builtin.module"() ({
  "func.func"() ({
  ^bb0(%x: tensor<4xf64>, %y: tensor<4xf64>):
    %0 = "nd.mul"(%x, %y) : (tensor<4xf64>, tensor<4xf64>) -> tensor<4xf64>
    %1 = "nd.reduce_sum"(%0) {axes = [0]} : (tensor<4xf64>) -> tensor<f64>
    "func.return"(%1) : (tensor<f64>) -> ()
  }) {sym_name = "f", function_type = (tensor<4xf64>, tensor<4xf64>) -> tensor<f64>} : () -> ()
}) : () -> ()
