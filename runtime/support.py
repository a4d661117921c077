"""Native code that every compiled program calls: argument checks, the error record, launches.

It is LLVM text, compiled and cached as programs are, and provided to them as symbols.
"""

from __future__ import annotations

from gradc.ir.program import (
    ARRAY_DTYPE,
    ARRAY_FLAGS,
    ARRAY_RANK,
    ARRAY_SIZES,
    ARRAY_TYPE,
    RECORD_LOCK,
    RECORD_RANK,
    RECORD_SITE,
    RECORD_VALUES,
)
from gradc.runtime import blas, compile, threads

C_CONTIGUOUS_ALIGNED = 0x0101  # of the flags of an array

CHECK_ARGUMENTS = f"""
; 0 when all arguments are as wanted, else 1 + the position of one that is not.
; wanted: count, then for each: address of the dtype object, rank, sizes...
define i64 @gradc_check_arguments(ptr %args, ptr %wanted, ptr %like) {{
entry:
  %typeslot = getelementptr i8, ptr %like, i64 {ARRAY_TYPE}
  %type = load ptr, ptr %typeslot
  %count = load i64, ptr %wanted
  %first = getelementptr i64, ptr %wanted, i64 1
  br label %head
head:
  %k = phi i64 [ 0, %entry ], [ %k1, %next ]
  %spec = phi ptr [ %first, %entry ], [ %dims.end, %next ]
  %more = icmp slt i64 %k, %count
  br i1 %more, label %one, label %done
one:
  %slot = getelementptr ptr, ptr %args, i64 %k
  %object = load ptr, ptr %slot
  %own.t = getelementptr i8, ptr %object, i64 {ARRAY_TYPE}
  %own = load ptr, ptr %own.t
  %same = icmp eq ptr %own, %type
  br i1 %same, label %array, label %bad
array:
  %dtype.p = getelementptr i8, ptr %object, i64 {ARRAY_DTYPE}
  %dtype = load ptr, ptr %dtype.p
  %dtype.w = load ptr, ptr %spec
  %c1 = icmp eq ptr %dtype, %dtype.w
  %flags.p = getelementptr i8, ptr %object, i64 {ARRAY_FLAGS}
  %flags = load i32, ptr %flags.p
  %set = and i32 %flags, {C_CONTIGUOUS_ALIGNED}
  %c2 = icmp eq i32 %set, {C_CONTIGUOUS_ALIGNED}
  %rank.p = getelementptr i8, ptr %object, i64 {ARRAY_RANK}
  %rank.s = load i32, ptr %rank.p
  %rank = sext i32 %rank.s to i64
  %rank.wp = getelementptr i64, ptr %spec, i64 1
  %rank.w = load i64, ptr %rank.wp
  %c3 = icmp eq i64 %rank, %rank.w
  %c12 = and i1 %c1, %c2
  %c123 = and i1 %c12, %c3
  br i1 %c123, label %sizes, label %bad
sizes:
  %dims.p = getelementptr i8, ptr %object, i64 {ARRAY_SIZES}
  %dims = load ptr, ptr %dims.p
  %dims.w = getelementptr i64, ptr %spec, i64 2
  %dims.end = getelementptr i64, ptr %dims.w, i64 %rank.w
  br label %size
size:
  %d = phi i64 [ 0, %sizes ], [ %d1, %compare ]
  %left = icmp slt i64 %d, %rank
  br i1 %left, label %compare, label %next
compare:
  %n.p = getelementptr i64, ptr %dims, i64 %d
  %n = load i64, ptr %n.p
  %n.wp = getelementptr i64, ptr %dims.w, i64 %d
  %n.w = load i64, ptr %n.wp
  %d1 = add i64 %d, 1
  %equal = icmp eq i64 %n, %n.w
  br i1 %equal, label %size, label %bad
next:
  %k1 = add i64 %k, 1
  br label %head
bad:
  %answer = add i64 %k, 1
  ret i64 %answer
done:
  ret i64 0
}}
"""

FAIL = f"""
; Note a failed check, unless one of a lower rank is noted already.
define void @gradc_fail(
    ptr %record, i64 %rank, i64 %site, i64 %a, i64 %b, i64 %c, i64 %d, i64 %e, i64 %f) {{
entry:
  %lock = getelementptr i64, ptr %record, i64 {RECORD_LOCK}
  br label %take
take:
  %was = atomicrmw xchg ptr %lock, i64 1 acquire
  %free = icmp eq i64 %was, 0
  br i1 %free, label %held, label %take
held:
  %noted.p = getelementptr i64, ptr %record, i64 {RECORD_RANK}
  %noted = load atomic i64, ptr %noted.p monotonic, align 8
  %lower = icmp slt i64 %rank, %noted
  br i1 %lower, label %note, label %release
note:
  store atomic i64 %rank, ptr %noted.p monotonic, align 8
  %site.p = getelementptr i64, ptr %record, i64 {RECORD_SITE}
  store i64 %site, ptr %site.p
  %v = getelementptr i64, ptr %record, i64 {RECORD_VALUES}
  store i64 %a, ptr %v
  %v1 = getelementptr i64, ptr %v, i64 1
  store i64 %b, ptr %v1
  %v2 = getelementptr i64, ptr %v, i64 2
  store i64 %c, ptr %v2
  %v3 = getelementptr i64, ptr %v, i64 3
  store i64 %d, ptr %v3
  %v4 = getelementptr i64, ptr %v, i64 4
  store i64 %e, ptr %v4
  %v5 = getelementptr i64, ptr %v, i64 5
  store i64 %f, ptr %v5
  br label %release
release:
  store atomic i64 0, ptr %lock release, align 8
  ret void
}}
"""

# Processors without F16C (x86-64-v2) convert half precision by these calls, which LLVM names.
HALF = """
define half @gradc_truncsfhf2(float %x) {
  %bits = bitcast float %x to i32
  %high = lshr i32 %bits, 16
  %sign = and i32 %high, 32768
  %a = and i32 %bits, 2147483647
  ; normal: rebias the exponent, round to nearest even at bit 13
  %odd.s = lshr i32 %a, 13
  %odd = and i32 %odd.s, 1
  %based = sub i32 %a, 939524096
  %round.1 = add i32 %based, 4095
  %round = add i32 %round.1, %odd
  %normal = lshr i32 %round, 13
  ; subnormal: adding 0.5 rounds to multiples of 2**-24
  %f = bitcast i32 %a to float
  %sum = fadd float %f, 5.0e-1
  %sum.b = bitcast float %sum to i32
  %subnormal = sub i32 %sum.b, 1056964608
  %payload.s = lshr i32 %a, 13
  %payload = and i32 %payload.s, 1023
  %nan = or i32 %payload, 32256
  %is.nan = icmp ugt i32 %a, 2139095040
  %is.inf = icmp uge i32 %a, 1199566848
  %is.normal = icmp uge i32 %a, 947912704
  %r1 = select i1 %is.normal, i32 %normal, i32 %subnormal
  %r2 = select i1 %is.inf, i32 31744, i32 %r1
  %r3 = select i1 %is.nan, i32 %nan, i32 %r2
  %r4 = or i32 %r3, %sign
  %r5 = trunc i32 %r4 to i16
  %r = bitcast i16 %r5 to half
  ret half %r
}
define float @gradc_extendhfsf2(half %x) {
  %h = bitcast half %x to i16
  %w = zext i16 %h to i32
  %m = and i32 %w, 32767
  %s.1 = and i32 %w, 32768
  %sign = shl i32 %s.1, 16
  %shifted = shl i32 %m, 13
  %exponent = and i32 %shifted, 260046848
  %normal = add i32 %shifted, 939524096
  %special = add i32 %shifted, 1879048192
  %sub.b = add i32 %shifted, 947912704
  %sub.f = bitcast i32 %sub.b to float
  %sub.r = fsub float %sub.f, 0x3F10000000000000
  %subnormal = bitcast float %sub.r to i32
  %is.special = icmp eq i32 %exponent, 260046848
  %is.sub = icmp eq i32 %exponent, 0
  %r1 = select i1 %is.special, i32 %special, i32 %normal
  %r2 = select i1 %is.sub, i32 %subnormal, i32 %r1
  %r3 = or i32 %r2, %sign
  %r = bitcast i32 %r3 to float
  ret float %r
}
"""

PROVIDED = ("gradc_check_arguments", "gradc_fail", "gradc_truncsfhf2", "gradc_extendhfsf2")
_ready = False


def provide() -> None:
    """Compile the support code; make it, the pool and BLAS known to compiled programs (once)."""
    global _ready
    if not _ready:
        blas.provide()
        text = CHECK_ARGUMENTS + FAIL + HALF
        for name, address in compile.addresses_of(text, PROVIDED).items():
            compile.add_symbol(name.replace("gradc_", "__") if "hf" in name else name, address)
        _ready = True
    threads.start()
