// RUN: gradc opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(func.func(loops))'

// expected-error@+1 {{expected @f to have planned memory (the attribute arena_bytes): run bufferize and release before loops}}
"func.func"() ({
^bb0(%x: memref<4xf32>):
  "func.return"() : () -> ()
}) {sym_name = "f", function_type = (memref<4xf32>) -> ()} : () -> ()

// -----

"func.func"() ({
^bb0(%x: memref<4xf32>, %y: memref<4xf32>):
  // expected-error@+1 {{nd.exp cannot be compiled to native code: expected an operation that `fuse` puts into a kernel}}
  "kernel.apply"(%x, %y) {op = "nd.exp", attributes = {}, outputs = 1 : i64, shapes = [[4 : i64]]} : (memref<4xf32>, memref<4xf32>) -> ()
  "func.return"() : () -> ()
}) {sym_name = "g", function_type = (memref<4xf32>, memref<4xf32>) -> (), arena_bytes = 0 : i64} : () -> ()
