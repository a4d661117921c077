// RUN: gradc opt %s --split-input-file --verify-diagnostics --allow-unregistered-dialect

"func.func"() ({
^bb0(%x: tensor<4xf32>):
  // expected-error@+1 {{nd.neg: expected result types tensor<4xf32>, got tensor<3xf32>}}
  %0 = "nd.neg"(%x) : (tensor<4xf32>) -> tensor<3xf32>
  "func.return"(%0) : (tensor<3xf32>) -> ()
}) {sym_name = "f", function_type = (tensor<4xf32>) -> tensor<3xf32>} : () -> ()

// -----

"func.func"() ({
^bb0(%x: tensor<4xf32>, %y: tensor<3xf32>):
  // expected-error@+1 {{nd.add: expected operands of one type, got tensor<4xf32> and tensor<3xf32>}}
  %0 = "nd.add"(%x, %y) : (tensor<4xf32>, tensor<3xf32>) -> tensor<4xf32>
  "func.return"(%0) : (tensor<4xf32>) -> ()
}) {sym_name = "f", function_type = (tensor<4xf32>, tensor<3xf32>) -> tensor<4xf32>} : () -> ()

// -----

// expected-error@+1 {{func.func: expected a terminator, got an empty block}}
"func.func"() ({
^bb0:
}) {sym_name = "f", function_type = () -> ()} : () -> ()

// -----

"func.func"() ({
^bb0(%x: tensor<4xf32>):
  // expected-error@+1 {{func.func: expected its block to end with a terminator, got nd.neg}}
  %0 = "nd.neg"(%x) : (tensor<4xf32>) -> tensor<4xf32>
}) {sym_name = "f", function_type = (tensor<4xf32>) -> ()} : () -> ()

// -----

"func.func"() ({
  // expected-error@+1 {{func.return: expected the terminator to be last in its block}}
  "func.return"() : () -> ()
  "func.return"() : () -> ()
}) {sym_name = "f", function_type = () -> ()} : () -> ()

// -----

// expected-error@+1 {{func.func: expected one block in each region, got 2}}
"func.func"() ({
  "func.return"() : () -> ()
^bb1:
  "func.return"() : () -> ()
}) {sym_name = "f", function_type = () -> ()} : () -> ()

// -----

// expected-error@+1 {{@f returns () -> tensor<4xf32>, expected (tensor<4xf32>) -> tensor<3xf32>}}
"func.func"() ({
^bb0(%x: tensor<4xf32>):
  "func.return"(%x) : (tensor<4xf32>) -> ()
}) {sym_name = "f", function_type = (tensor<4xf32>) -> tensor<3xf32>} : () -> ()

// -----

// expected-error@+1 {{func.func: expected the attribute sym_name, got none}}
"func.func"() ({
  "func.return"() : () -> ()
}) {function_type = () -> ()} : () -> ()

// -----

// expected-error@+1 {{builtin.module: expected distinct symbol names, got @f twice}}
"builtin.module"() ({
  "func.func"() ({
    "func.return"() : () -> ()
  }) {sym_name = "f", function_type = () -> ()} : () -> ()
  "func.func"() ({
    "func.return"() : () -> ()
  }) {sym_name = "f", function_type = () -> ()} : () -> ()
}) : () -> ()

// -----

"func.func"() ({
^bb0(%x: tensor<4xf32>):
  // expected-error@+1 {{nd.reduce_sum: expected the attribute axes, got none}}
  %0 = "nd.reduce_sum"(%x) : (tensor<4xf32>) -> tensor<f32>
  "func.return"() : () -> ()
}) {sym_name = "f", function_type = (tensor<4xf32>) -> ()} : () -> ()

// -----

"func.func"() ({
^bb0(%x: tensor<4xf32>):
  // expected-error@+1 {{nd.reduce_sum: expected no attribute `axis`: its attributes are axes}}
  %0 = "nd.reduce_sum"(%x) {axes = [0], axis = 0} : (tensor<4xf32>) -> tensor<f32>
  "func.return"() : () -> ()
}) {sym_name = "f", function_type = (tensor<4xf32>) -> ()} : () -> ()

// -----

"func.func"() ({
^bb0(%x: tensor<4xf32>):
  // expected-error@+1 {{nd.reduce_sum: expected axes to be sorted and distinct in [0, 1), got}}
  %0 = "nd.reduce_sum"(%x) {axes = "all"} : (tensor<4xf32>) -> tensor<f32>
  "func.return"() : () -> ()
}) {sym_name = "f", function_type = (tensor<4xf32>) -> ()} : () -> ()

// -----

"func.func"() ({
^bb0(%x: tensor<4xf32>):
  // expected-error@+1 {{nd.neg: expected 1 operand, got 2}}
  %0 = "nd.neg"(%x, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  "func.return"() : () -> ()
}) {sym_name = "f", function_type = (tensor<4xf32>) -> ()} : () -> ()

// -----

"func.func"() ({
^bb0(%x: tensor<4xf32>):
  // expected-error@+1 {{nd.neg: expected no attribute `strange`: its attributes are none}}
  %0 = "nd.neg"(%x) {strange = 1} : (tensor<4xf32>) -> tensor<4xf32>
  "func.return"() : () -> ()
}) {sym_name = "f", function_type = (tensor<4xf32>) -> ()} : () -> ()

// -----

"func.func"() ({
^bb0(%x: memref<4x3xf32>):
  // expected-error@+1 {{mem.alias: cannot view memref<4x3xf32> as memref<11xf32>: the sizes differ}}
  %0 = "mem.alias"(%x) {type = memref<11xf32>} : (memref<4x3xf32>) -> memref<11xf32>
  "func.return"() : () -> ()
}) {sym_name = "f", function_type = (memref<4x3xf32>) -> ()} : () -> ()

// -----

"func.func"() ({
^bb0(%x: tensor<4xf32>):
  // expected-error@+1 {{kernel.generic: unknown combine 'xor'; known: add, mul, maximum, minimum, logical_or, logical_and}}
  %0 = "kernel.generic"() ({
  ^bb1(%i: index):
    %1 = "kernel.load"(%x, %i) {map = affine_map<(d0) -> (d0)>} : (tensor<4xf32>, index) -> tensor<f32>
    "kernel.yield"(%1) : (tensor<f32>) -> ()
  }) {sizes = [4 : i64], outputs = [["xor", affine_map<(d0) -> ()>]]} : () -> tensor<f32>
  "func.return"(%0) : (tensor<f32>) -> ()
}) {sym_name = "f", function_type = (tensor<4xf32>) -> tensor<f32>} : () -> ()
