// RUN: gradc opt %s --pass-pipeline='builtin.module(func.func(fuse,bufferize,release,loops))' --pretty | filecheck %s

// The nests of a fusion share their outer loop: its rows live in the arena (a row for each job), their
// maxima and sums in registers. A long sum of f32 runs in blocks whose totals are added in f64. A size
// born at run time is counted, then reported.
// CHECK-LABEL: func.func @softmax
// CHECK-SAME:    %arena: memref<256xi8>
// CHECK:         scf.parallel
// CHECK:           %[[ROW:[0-9]+]] = memref.view %arena, {{.*}} -> memref<30xf64>
// CHECK:           scf.for %[[I:[a-z0-9_]+]] =
// CHECK:             %[[TOP:[0-9]+]] = scf.for {{.*}} iter_args
// CHECK:               arith.maximumf
// CHECK:             %[[SUM:[0-9]+]] = scf.for {{.*}} iter_args
// CHECK:               arith.subf %{{[0-9]+}}, %[[TOP]]
// CHECK:               math.exp
// CHECK:               memref.store %{{[0-9]+}}, %[[ROW]]
// CHECK:             scf.for
// CHECK:               memref.load %[[ROW]]
// CHECK:               arith.divf %{{[0-9]+}}, %[[SUM]]
// CHECK:               memref.store %{{[0-9]+}}, %out_0[%[[I]],
// CHECK-LABEL: func.func @total
// CHECK:         arith.constant 1024 : index
// CHECK:         arith.mulf
// CHECK:         arith.addf %{{.*}} : f32
// CHECK:         arith.extf
// CHECK:         arith.addf %{{.*}} : f64
// CHECK:         arith.truncf
// CHECK-LABEL: func.func @chosen
// CHECK:         %[[COUNT:[0-9]+]] = scf.for {{.*}} iter_args{{.*}} : index
// CHECK:         kernel.check
// CHECK:         kernel.set_size %[[COUNT]] {name = "n0"}
"builtin.module"() ({
  "func.func"() ({
  ^bb0(%x0: tensor<40x30xf64>):
    %0 = "nd.reduce_max"(%x0) {axes = [1 : i64]} : (tensor<40x30xf64>) -> tensor<40xf64>
    %1 = "nd.broadcast"(%0) {shape = [40 : i64, 30 : i64], dims = [0 : i64]} : (tensor<40xf64>) -> tensor<40x30xf64>
    %2 = "nd.sub"(%x0, %1) : (tensor<40x30xf64>, tensor<40x30xf64>) -> tensor<40x30xf64>
    %3 = "nd.exp"(%2) : (tensor<40x30xf64>) -> tensor<40x30xf64>
    %4 = "nd.reduce_sum"(%3) {axes = [1 : i64]} : (tensor<40x30xf64>) -> tensor<40xf64>
    %5 = "nd.broadcast"(%4) {shape = [40 : i64, 30 : i64], dims = [0 : i64]} : (tensor<40xf64>) -> tensor<40x30xf64>
    %6 = "nd.div"(%3, %5) : (tensor<40x30xf64>, tensor<40x30xf64>) -> tensor<40x30xf64>
    "func.return"(%6) : (tensor<40x30xf64>) -> ()
  }) {sym_name = "softmax", function_type = (tensor<40x30xf64>) -> tensor<40x30xf64>} : () -> ()
  "func.func"() ({
  ^bb0(%x0: tensor<100000xf32>):
    %0 = "nd.square"(%x0) : (tensor<100000xf32>) -> tensor<100000xf32>
    %1 = "nd.reduce_sum"(%0) {axes = [0 : i64]} : (tensor<100000xf32>) -> tensor<f32>
    "func.return"(%1) : (tensor<f32>) -> ()
  }) {sym_name = "total", function_type = (tensor<100000xf32>) -> tensor<f32>} : () -> ()
  "func.func"() ({
  ^bb0(%x0: tensor<6xf64>):
    %0 = "nd.constant"() {value = 0.0 : f64, type = tensor<6xf64>} : () -> tensor<6xf64>
    %1 = "nd.gt"(%x0, %0) : (tensor<6xf64>, tensor<6xf64>) -> tensor<6xi1>
    %2 = "nd.nonzero"(%1) {size = "n0"} : (tensor<6xi1>) -> tensor<?xi64, ["n0"]>
    %3 = "nd.constant"() {value = dense<[0.0, 1.0, 2.0, 3.0, 4.0, 5.0]> : tensor<6xf64>, type = tensor<6xf64>} : () -> tensor<6xf64>
    %4 = "nd.add"(%x0, %3) : (tensor<6xf64>, tensor<6xf64>) -> tensor<6xf64>
    %5 = "nd.gather"(%4, %2) {axes = [0 : i64]} : (tensor<6xf64>, tensor<?xi64, ["n0"]>) -> tensor<?xf64, ["n0"]>
    "func.return"(%5) : (tensor<?xf64, ["n0"]>) -> ()
  }) {sym_name = "chosen", function_type = (tensor<6xf64>) -> tensor<?xf64, ["n0"]>} : () -> ()
}) : () -> ()
