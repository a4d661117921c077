// RUN: gradc opt %s --split-input-file --verify-diagnostics

// expected-error@+1 {{unknown operation nd.ad, did you mean nd.}}
"nd.ad"() : () -> ()

// -----

// expected-error@below {{%y is not defined before its use, or not visible here}}
"func.return"(%y) : (f32) -> ()

// -----

"builtin.module"() ({
  "func.func"() ({
  ^bb0(%x: tensor<4xf32>):
    "func.return"(%x) : (tensor<3xf32>) -> () // expected-error {{expected %x to have type tensor<4xf32>, got tensor<3xf32>}}
  }) {sym_name = "f", function_type = (tensor<4xf32>) -> tensor<4xf32>} : () -> ()
}) : () -> ()

// -----

// expected-error@+1 {{expected an operation in generic form}}
func.func @f() { return }

// -----

// expected-error@+1 {{%0 is defined twice}}
%0, %0 = "func.return"() : () -> (f32, f32)

// -----

// expected-error@+1 {{attribute a is given twice}}
"func.return"() {a = 1, a = 2} : () -> ()

// -----

// expected-error@+1 {{expected elements of shape [3], got [2]}}
"func.return"() {a = dense<[1, 2]> : tensor<3xi64>} : () -> ()

// -----

// expected-error@+1 {{expected a name for each of the 1 sizes written as ?, got 0}}
"func.return"() {a = tensor<?xf32>} : () -> ()

// -----

// expected-error@+1 {{300 is out of range for i8}}
"func.return"() {a = 300 : i8} : () -> ()

// -----

// expected-error@+1 {{the string has no end on its line}}
"func.return"() {a = "text} : () -> ()

// -----

// expected-error@+2 {{expected '}' at the end of the region, got the end of the file}}
"builtin.module"() ({
