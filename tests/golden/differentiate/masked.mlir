// RUN: gradc opt %s --pass-pipeline='builtin.module(differentiate{keep-values=false cotangents=arguments})' --pretty | filecheck %s

// where(x > 0, log(x), 0): the rule of log works on the whole cotangent and the mask comes last, so
// that 0 / 0 is not seen where x is 0.
// CHECK-LABEL: func.func @where_grad(%x: tensor<4xf64>, %cotangent0: tensor<4xf64>) -> tensor<4xf64>
// CHECK:         [[LIVE:%[0-9]+]] = nd.gt %x
// CHECK-NEXT:    [[DX:%[0-9]+]] = nd.div %cotangent0, %x
// CHECK:         [[FOUND:%[0-9]+]] = nd.select [[LIVE]], [[DX]]
// CHECK-NEXT:    func.return [[FOUND]]
"builtin.module"() ({
  "func.func"() ({
  ^bb0(%x: tensor<4xf64>):
    %0 = "nd.constant"() {value = 0.0 : f64, type = tensor<4xf64>} : () -> tensor<4xf64>
    %1 = "nd.gt"(%x, %0) : (tensor<4xf64>, tensor<4xf64>) -> tensor<4xi1>
    %2 = "nd.log"(%x) : (tensor<4xf64>) -> tensor<4xf64>
    %3 = "nd.select"(%1, %2, %0) : (tensor<4xi1>, tensor<4xf64>, tensor<4xf64>) -> tensor<4xf64>
    "func.return"(%3) : (tensor<4xf64>) -> ()
  }) {sym_name = "where", function_type = (tensor<4xf64>) -> tensor<4xf64>} : () -> ()
}) : () -> ()
