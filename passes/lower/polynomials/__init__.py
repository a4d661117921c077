"""The functions of the math dialect as branch-free arithmetic that LLVM vectorises, for f32 and
f64.

Each function takes an `Arithmetic` and loop-level values of type f32 or f64. Only operations with
vector instructions from AVX2 on are used: no conversion between 64-bit integers and floats (numbers
go between the two through the mantissa of 1.5 * 2**52), no arithmetic shift of 64-bit integers.
"""
