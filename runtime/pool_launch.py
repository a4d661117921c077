"""How a program runs the jobs of a parallel loop on the pool, as LLVM text; see pool.py."""

from __future__ import annotations

from gradc.ir.program import (
    NO_RANK,
    RECORD_POLL,
    RECORD_RANK,
    STATUS_DONE,
    STATUS_FAILED,
    STATUS_INTERRUPTED,
)
from gradc.runtime.pool_state import (
    BLAS_BEFORE,
    BLAS_GET,
    BLAS_MUTEX,
    BLAS_NARROW,
    BLAS_SET,
    INTERRUPTED,
    READY,
    at,
)

# gradc_outcome: the status from the record; interrupted means that a Python exception is set.
LAUNCH = f"""
define internal i32 @gradc_outcome(ptr %record) {{
  %rank.p = getelementptr i64, ptr %record, i64 {RECORD_RANK}
  %rank = load atomic i64, ptr %rank.p monotonic, align 8
  %done = icmp eq i64 %rank, {NO_RANK}
  %stopped = icmp eq i64 %rank, {INTERRUPTED}
  %bad = select i1 %stopped, i32 {STATUS_INTERRUPTED}, i32 {STATUS_FAILED}
  %status = select i1 %done, i32 {STATUS_DONE}, i32 %bad
  ret i32 %status
}}

define internal void @gradc_narrow() {{
  ; Jobs call BLAS on one thread each: its own threads wait for each other while they work, for
  ; whole time slices on a busy machine. Changing their number moves BLAS's work space.
  {at("mutex", BLAS_MUTEX)}
  {at("count.p", BLAS_NARROW)}
  {at("before.p", BLAS_BEFORE)}
  {at("get.p", BLAS_GET)}
  {at("set.p", BLAS_SET)}
  %set = load ptr, ptr %set.p
  %none = icmp eq ptr %set, null
  br i1 %none, label %out, label %lock
lock:
  %r1 = call i32 @pthread_mutex_lock(ptr %mutex)
  %count = load i64, ptr %count.p
  %more = add i64 %count, 1
  store i64 %more, ptr %count.p
  %first = icmp eq i64 %count, 0
  br i1 %first, label %change, label %unlock
change:
  %get = load ptr, ptr %get.p
  %before = call i32 %get()
  %wide = sext i32 %before to i64
  store i64 %wide, ptr %before.p
  call void %set(i32 1)
  br label %unlock
unlock:
  %r2 = call i32 @pthread_mutex_unlock(ptr %mutex)
  br label %out
out:
  ret void
}}

define internal void @gradc_widen() {{
  {at("mutex", BLAS_MUTEX)}
  {at("count.p", BLAS_NARROW)}
  {at("before.p", BLAS_BEFORE)}
  {at("set.p", BLAS_SET)}
  %set = load ptr, ptr %set.p
  %none = icmp eq ptr %set, null
  br i1 %none, label %out, label %lock
lock:
  %r1 = call i32 @pthread_mutex_lock(ptr %mutex)
  %count = load i64, ptr %count.p
  %less = sub i64 %count, 1
  store i64 %less, ptr %count.p
  %last = icmp eq i64 %less, 0
  br i1 %last, label %change, label %unlock
change:
  %before = load i64, ptr %before.p
  %threads = trunc i64 %before to i32
  call void %set(i32 %threads)
  br label %unlock
unlock:
  %r2 = call i32 @pthread_mutex_unlock(ptr %mutex)
  br label %out
out:
  ret void
}}

define i32 @gradc_launch(ptr %job, ptr %context, i64 %jobs, ptr %record, i32 %blas) {{
entry:
  %clock = getelementptr i64, ptr %record, i64 {RECORD_POLL}
  %uses = icmp ne i32 %blas, 0
  br i1 %uses, label %narrow, label %begin
narrow:
  call void @gradc_narrow()
  br label %begin
begin:
  {at("ready.p", READY)}
  %ready = load atomic i64, ptr %ready.p acquire, align 8
  %some = icmp sgt i64 %ready, 0
  %many = icmp sgt i64 %jobs, 1
  %worth = and i1 %some, %many
  br i1 %worth, label %claim, label %alone
claim:
  %won = call i1 @gradc_claim()
  br i1 %won, label %offer, label %alone
offer:
  call void @gradc_publish(ptr %job, ptr %context, i64 0, i64 %jobs, i64 0)
  br label %work
work:
  %worked = call i1 @gradc_one_job()
  br i1 %worked, label %look, label %wait
look:
  %polled.1 = call i32 @gradc_poll(ptr %record, ptr %clock)
  br label %work
wait:
  call void @gradc_await(i64 %jobs)
  br label %finish
finish:
  call void @gradc_release()
  %status = call i32 @gradc_outcome(ptr %record)
  br label %end
alone:
  br label %head
head:
  %k = phi i64 [ 0, %alone ], [ %k1, %next ]
  %so.far = call i32 @gradc_outcome(ptr %record)
  %good = icmp eq i32 %so.far, 0
  %more = icmp slt i64 %k, %jobs
  %go = and i1 %good, %more
  br i1 %go, label %next, label %out
next:
  %k32 = trunc i64 %k to i32
  %ignored = call i32 %job(i32 %k32, ptr %context, i32 0)
  %polled.2 = call i32 @gradc_poll(ptr %record, ptr %clock)
  %k1 = add i64 %k, 1
  br label %head
out:
  br label %end
end:
  %result = phi i32 [ %status, %finish ], [ %so.far, %out ]
  br i1 %uses, label %widen, label %leave
widen:
  call void @gradc_widen()
  br label %leave
leave:
  ret i32 %result
}}
"""
