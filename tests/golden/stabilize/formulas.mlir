// RUN: gradc opt %s --pass-pipeline='builtin.module(func.func(stabilize))' --pretty | filecheck %s

// CHECK-LABEL: func.func @sigmoid
// CHECK-NEXT:    [[Y:%[0-9]+]] = nd.sigmoid %x
// CHECK-NEXT:    func.return [[Y]]

// CHECK-LABEL: func.func @norm
// CHECK:         [[SUM:%[0-9]+]] = nd.reduce_sum
// CHECK:         [[ZERO:%[0-9]+]] = nd.eq [[SUM]]
// CHECK:         [[SAFE:%[0-9]+]] = nd.select [[ZERO]], {{%[0-9]+}}, [[SUM]]
// CHECK:         [[ROOT:%[0-9]+]] = nd.sqrt [[SAFE]]
// CHECK:         nd.select [[ZERO]], {{%[0-9]+}}, [[ROOT]]

// CHECK-LABEL: func.func @relu
// CHECK-NEXT:    [[Y:%[0-9]+]] = nd.relu %x
// CHECK-NEXT:    func.return [[Y]]
"builtin.module"() ({
  "func.func"() ({
  ^bb0(%x: tensor<4xf64>):
    %0 = "nd.constant"() {value = 1.0 : f64, type = tensor<4xf64>} : () -> tensor<4xf64>
    %1 = "nd.neg"(%x) : (tensor<4xf64>) -> tensor<4xf64>
    %2 = "nd.exp"(%1) : (tensor<4xf64>) -> tensor<4xf64>
    %3 = "nd.add"(%0, %2) : (tensor<4xf64>, tensor<4xf64>) -> tensor<4xf64>
    %4 = "nd.div"(%0, %3) : (tensor<4xf64>, tensor<4xf64>) -> tensor<4xf64>
    "func.return"(%4) : (tensor<4xf64>) -> ()
  }) {sym_name = "sigmoid", function_type = (tensor<4xf64>) -> tensor<4xf64>} : () -> ()
  "func.func"() ({
  ^bb0(%x: tensor<4x3xf64>):
    %0 = "nd.mul"(%x, %x) : (tensor<4x3xf64>, tensor<4x3xf64>) -> tensor<4x3xf64>
    %1 = "nd.reduce_sum"(%0) {axes = [1]} : (tensor<4x3xf64>) -> tensor<4xf64>
    %2 = "nd.sqrt"(%1) : (tensor<4xf64>) -> tensor<4xf64>
    "func.return"(%2) : (tensor<4xf64>) -> ()
  }) {sym_name = "norm", function_type = (tensor<4x3xf64>) -> tensor<4xf64>} : () -> ()
  "func.func"() ({
  ^bb0(%x: tensor<4xf64>):
    %0 = "nd.constant"() {value = 0.0 : f64, type = tensor<4xf64>} : () -> tensor<4xf64>
    %1 = "nd.maximum"(%0, %x) : (tensor<4xf64>, tensor<4xf64>) -> tensor<4xf64>
    "func.return"(%1) : (tensor<4xf64>) -> ()
  }) {sym_name = "relu", function_type = (tensor<4xf64>) -> tensor<4xf64>} : () -> ()
}) : () -> ()
