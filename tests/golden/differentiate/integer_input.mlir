// RUN: not gradc opt %s --pass-pipeline='builtin.module(differentiate{wrt=0,1})' --crash-reproducer=/dev/null 2>&1 | filecheck %s

// CHECK: pass differentiate{wrt=0,1} failed
// CHECK: expected a floating or complex input to differentiate, got tensor<3xi64> for argument 1 (k) of @f
"builtin.module"() ({
  "func.func"() ({
  ^bb0(%x: tensor<f64>, %k: tensor<3xi64>):
    "func.return"(%x) : (tensor<f64>) -> ()
  }) {sym_name = "f", function_type = (tensor<f64>, tensor<3xi64>) -> tensor<f64>} : () -> ()
}) : () -> ()
