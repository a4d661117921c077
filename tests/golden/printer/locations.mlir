// RUN: gradc opt %s --locations --allow-unregistered-dialect | filecheck %s

#place = loc("alias.py":1:2)
// CHECK:      "test.a"() : () -> () loc("model.py":12:9)
"test.a"() : () -> () loc("model.py":12:9)
// CHECK-NEXT: "test.b"() : () -> () loc("backward"("model.py":12:9))
"test.b"() : () -> () loc("backward"("model.py":12:9))
// CHECK-NEXT: "test.c"() : () -> () loc(unknown)
"test.c"() : () -> () loc(unknown)
// CHECK-NEXT: "test.d"() : () -> () loc("alias.py":1:2)
"test.d"() : () -> () loc(#place)
// CHECK-NEXT: "test.e"() : () -> () loc("f.py":3:4)
"test.e"() : () -> () loc(callsite("f.py":3:4 at "g.py":5:6))
