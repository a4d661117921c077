// RUN: gradc opt %s --pretty | filecheck %s
// RUN: gradc opt %s | filecheck %s --check-prefix=GENERIC

// Names are free again after a region: both loops say %i.
// CHECK:      func.func @f(%x: memref<4x3xf32, strided<[1, 4]>>, %sum: memref<f32>) {
// CHECK:        %c = arith.constant inf : f32
// CHECK-NEXT:   scf.parallel (%i) = (%zero) to (%four) step (%one) {
// CHECK-NEXT:     %0 = memref.load %x[%i, %zero] : memref<4x3xf32, strided<[1, 4]>>
// CHECK-NEXT:     memref.store %0, %x[%i, %one] : memref<4x3xf32, strided<[1, 4]>>
// CHECK-NEXT:     scf.reduce
// CHECK-NEXT:   }
// CHECK-NEXT:   %total = scf.for %i = %zero to %four step %one iter_args(%s = %c) : f32 {
// CHECK-NEXT:     scf.for %j = %zero to %i step %one {
// CHECK-NEXT:       scf.yield
// CHECK-NEXT:     }
// CHECK-NEXT:     %{{.*}} = arith.cmpi %i, %one {predicate = 2} : (index, index) -> i1
// CHECK-NEXT:     %{{.*}} = scf.if %{{.*}} : f32 {
// CHECK-NEXT:       scf.yield %s : f32
// CHECK-NEXT:     } else {
// CHECK-NEXT:       scf.yield %c : f32
// CHECK-NEXT:     }
// CHECK:        %last = scf.while(%n = %zero) : index {
// CHECK:          scf.condition {{.*}} : i1, index
// CHECK-NEXT:   } do (%m: index) {
// GENERIC:      "scf.for"(%zero, %four, %one, %c) ({
// GENERIC-NEXT: ^bb0(%i: index, %s: f32):
"builtin.module"() ({
  "func.func"() ({
  ^bb0(%x: memref<4x3xf32, strided<[1, 4]>>, %sum: memref<f32>):
    %zero = "arith.constant"() {value = 0 : index} : () -> index
    %one = "arith.constant"() {value = 1 : index} : () -> index
    %four = "arith.constant"() {value = 4 : index} : () -> index
    %c = "arith.constant"() {value = 0x7F800000 : f32} : () -> f32
    "scf.parallel"(%zero, %four, %one) ({
    ^bb0(%i: index):
      %0 = "memref.load"(%x, %i, %zero) : (memref<4x3xf32, strided<[1, 4]>>, index, index) -> f32
      "memref.store"(%0, %x, %i, %one) : (f32, memref<4x3xf32, strided<[1, 4]>>, index, index) -> ()
      "scf.reduce"() : () -> ()
    }) {operandSegmentSizes = array<i32: 1, 1, 1, 0>} : (index, index, index) -> ()
    %total = "scf.for"(%zero, %four, %one, %c) ({
    ^bb0(%i: index, %s: f32):
      "scf.for"(%zero, %i, %one) ({
      ^bb0(%j: index):
        "scf.yield"() : () -> ()
      }) : (index, index, index) -> ()
      %1 = "arith.cmpi"(%i, %one) {predicate = 2 : i64} : (index, index) -> i1
      %2 = "scf.if"(%1) ({
        "scf.yield"(%s) : (f32) -> ()
      }, {
        "scf.yield"(%c) : (f32) -> ()
      }) : (i1) -> f32
      "scf.yield"(%2) : (f32) -> ()
    }) : (index, index, index, f32) -> f32
    %last = "scf.while"(%zero) ({
    ^bb0(%n: index):
      %3 = "arith.cmpi"(%n, %four) {predicate = 2 : i64} : (index, index) -> i1
      "scf.condition"(%3, %n) : (i1, index) -> ()
    }, {
    ^bb0(%m: index):
      %4 = "arith.addi"(%m, %one) : (index, index) -> index
      "scf.yield"(%4) : (index) -> ()
    }) : (index) -> index
    "memref.store"(%total, %sum) : (f32, memref<f32>) -> ()
    "func.return"() : () -> ()
  }) {sym_name = "f", function_type = (memref<4x3xf32, strided<[1, 4]>>, memref<f32>) -> ()} : () -> ()
}) : () -> ()
