"""The thread pool's native part, as LLVM text: one pool for parallel loops and for BLAS.

One 64-bit word holds (epoch, number of jobs, next job); who takes a job compares and swaps it. A
worker reads the other fields between reading the word and swapping it. The swap succeeds only while
job `next` of that epoch is not taken, and until all jobs are done nobody writes the fields of the
next epoch, so the fields that it read belong to the job that it took; the number of jobs is in the
word because at rest the word would admit a larger one.

A launch needs the pool for itself (OWNER). Who finds it taken runs its jobs alone, one after
another, except for BLAS: its jobs wait for each other, so they run at the same time in any case, on
threads made for them when the pool is busy or too small. Workers spin, then yield, and sleep after
SLEEP_AFTER nanoseconds."""

from __future__ import annotations

import time

from gradc.runtime.pool_blas import BLAS_JOBS
from gradc.runtime.pool_launch import LAUNCH
from gradc.runtime.pool_signals import POLL
from gradc.runtime.pool_state import (
    BLAS_MUTEX,
    BLAS_SET,
    CONDITION,
    DATA,
    DONE,
    EXTRA,
    FUNCTION,
    LIMIT,
    MUTEX,
    OWNER,
    READY,
    SLEEP_AFTER,
    SLEEPERS,
    STRIDE,
    WORD,
    WORDS,
    at,
)

CLOCK = getattr(time, "CLOCK_MONOTONIC", 1)

HEADER = f"""
@gradc_pool_state = global [{WORDS} x i64] zeroinitializer, align 64
declare i32 @sched_yield()
declare i32 @clock_gettime(i32, ptr)
declare i32 @pthread_mutex_lock(ptr)
declare i32 @pthread_mutex_unlock(ptr)
declare i32 @pthread_cond_wait(ptr, ptr)
declare i32 @pthread_cond_broadcast(ptr)
declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_join(ptr, ptr)
declare i64 @pthread_self()
declare ptr @malloc(i64)
declare void @free(ptr)
declare ptr @PyEval_SaveThread()
declare void @PyEval_RestoreThread(ptr)
declare i32 @PyErr_CheckSignals()
declare i64 @llvm.smin.i64(i64, i64)
declare i64 @llvm.smax.i64(i64, i64)

define i64 @gradc_now() {{
  %t = alloca [2 x i64]
  %r = call i32 @clock_gettime(i32 {CLOCK}, ptr %t)
  %s = load i64, ptr %t
  %np = getelementptr i64, ptr %t, i64 1
  %n = load i64, ptr %np
  %sn = mul i64 %s, 1000000000
  %all = add i64 %sn, %n
  ret i64 %all
}}
"""

# Take one job and run it; false when there is none.
ONE_JOB = f"""
define internal i1 @gradc_one_job() {{
entry:
  {at("word.p", WORD)}
  {at("fn.p", FUNCTION)}
  {at("data.p", DATA)}
  {at("stride.p", STRIDE)}
  {at("extra.p", EXTRA)}
  {at("done.p", DONE)}
  br label %look
look:
  %word = load atomic i64, ptr %word.p acquire, align 8
  %high = lshr i64 %word, 16
  %jobs = and i64 %high, 65535
  %next = and i64 %word, 65535
  %any = icmp ult i64 %next, %jobs
  br i1 %any, label %take, label %none
take:
  %fn.i = load atomic i64, ptr %fn.p monotonic, align 8
  %data.i = load atomic i64, ptr %data.p monotonic, align 8
  %stride = load atomic i64, ptr %stride.p monotonic, align 8
  %extra = load atomic i64, ptr %extra.p monotonic, align 8
  %after = add i64 %word, 1
  %swap = cmpxchg ptr %word.p, i64 %word, i64 %after acq_rel acquire
  %won = extractvalue {{ i64, i1 }} %swap, 1
  br i1 %won, label %run, label %look
run:
  %fn = inttoptr i64 %fn.i to ptr
  %offset = mul i64 %next, %stride
  %place = add i64 %data.i, %offset
  %data = inttoptr i64 %place to ptr
  %job = trunc i64 %next to i32
  %more = trunc i64 %extra to i32
  call void %fn(i32 %job, ptr %data, i32 %more)
  %was = atomicrmw add ptr %done.p, i64 1 release
  ret i1 true
none:
  ret i1 false
}}
"""

# Offer jobs to the workers (the caller owns the pool), and wait until all are done.
PUBLISH = f"""
define internal void @gradc_publish(ptr %fn, ptr %data, i64 %stride, i64 %jobs, i64 %extra) {{
entry:
  {at("word.p", WORD)}
  {at("fn.p", FUNCTION)}
  {at("data.p", DATA)}
  {at("stride.p", STRIDE)}
  {at("extra.p", EXTRA)}
  {at("done.p", DONE)}
  {at("sleepers.p", SLEEPERS)}
  %fn.i = ptrtoint ptr %fn to i64
  %data.i = ptrtoint ptr %data to i64
  store atomic i64 %fn.i, ptr %fn.p monotonic, align 8
  store atomic i64 %data.i, ptr %data.p monotonic, align 8
  store atomic i64 %stride, ptr %stride.p monotonic, align 8
  store atomic i64 %extra, ptr %extra.p monotonic, align 8
  store atomic i64 0, ptr %done.p monotonic, align 8
  %word = load atomic i64, ptr %word.p monotonic, align 8
  %old = lshr i64 %word, 32
  %epoch = add i64 %old, 1
  %high = shl i64 %epoch, 32
  %count = shl i64 %jobs, 16
  %new = or i64 %high, %count
  store atomic i64 %new, ptr %word.p seq_cst, align 8
  fence seq_cst
  %sleepers = load atomic i64, ptr %sleepers.p seq_cst, align 8
  %asleep = icmp ne i64 %sleepers, 0
  br i1 %asleep, label %wake, label %done
wake:
  {at("mutex", MUTEX)}
  {at("condition", CONDITION)}
  %r1 = call i32 @pthread_mutex_lock(ptr %mutex)
  %r2 = call i32 @pthread_cond_broadcast(ptr %condition)
  %r3 = call i32 @pthread_mutex_unlock(ptr %mutex)
  br label %done
done:
  ret void
}}

define internal void @gradc_await(i64 %jobs) {{
entry:
  {at("done.p", DONE)}
  br label %look
look:
  %spins = phi i64 [ 0, %entry ], [ %more, %pause ], [ %more, %rest ]
  %done = load atomic i64, ptr %done.p acquire, align 8
  %all = icmp eq i64 %done, %jobs
  br i1 %all, label %out, label %wait
wait:
  %more = add i64 %spins, 1
  %long = icmp ugt i64 %more, 4000
  br i1 %long, label %rest, label %pause
pause:
  PAUSE
  br label %look
rest:
  %r = call i32 @sched_yield()
  br label %look
out:
  ret void
}}

define internal i1 @gradc_claim() {{
  {at("owner.p", OWNER)}
  %swap = cmpxchg ptr %owner.p, i64 0, i64 1 acquire monotonic
  %won = extractvalue {{ i64, i1 }} %swap, 1
  ret i1 %won
}}

define internal void @gradc_release() {{
  {at("owner.p", OWNER)}
  store atomic i64 0, ptr %owner.p release, align 8
  ret void
}}
"""

# What a worker thread runs; it leaves when its number is not below LIMIT.
WORKER = f"""
define void @gradc_worker(i64 %number) {{
entry:
  {at("word.p", WORD)}
  {at("limit.p", LIMIT)}
  {at("ready.p", READY)}
  {at("sleepers.p", SLEEPERS)}
  {at("mutex", MUTEX)}
  {at("condition", CONDITION)}
  %one = atomicrmw add ptr %ready.p, i64 1 acq_rel
  br label %fresh
fresh:
  %start = call i64 @gradc_now()
  br label %look
look:
  %spins = phi i64 [ 0, %fresh ], [ %spins1, %pause ], [ %spins1, %yield ]
  %limit = load atomic i64, ptr %limit.p acquire, align 8
  %stay = icmp slt i64 %number, %limit
  br i1 %stay, label %try, label %leave
try:
  %worked = call i1 @gradc_one_job()
  br i1 %worked, label %fresh, label %idle
idle:
  %spins1 = add i64 %spins, 1
  %spin = icmp ult i64 %spins1, 2000
  br i1 %spin, label %pause, label %clock
pause:
  PAUSE
  br label %look
clock:
  %now = call i64 @gradc_now()
  %waited = sub i64 %now, %start
  %tired = icmp sgt i64 %waited, {SLEEP_AFTER}
  br i1 %tired, label %sleep, label %yield
yield:
  %r0 = call i32 @sched_yield()
  br label %look
sleep:
  %r1 = call i32 @pthread_mutex_lock(ptr %mutex)
  %was = atomicrmw add ptr %sleepers.p, i64 1 seq_cst
  br label %recheck
recheck:
  %word = load atomic i64, ptr %word.p seq_cst, align 8
  %high = lshr i64 %word, 16
  %jobs = and i64 %high, 65535
  %next = and i64 %word, 65535
  %any = icmp ult i64 %next, %jobs
  %limit2 = load atomic i64, ptr %limit.p seq_cst, align 8
  %go = icmp sge i64 %number, %limit2
  %up = or i1 %any, %go
  br i1 %up, label %wake, label %doze
doze:
  %r2 = call i32 @pthread_cond_wait(ptr %condition, ptr %mutex)
  br label %recheck
wake:
  %were = atomicrmw sub ptr %sleepers.p, i64 1 seq_cst
  %r3 = call i32 @pthread_mutex_unlock(ptr %mutex)
  br label %fresh
leave:
  %left = atomicrmw sub ptr %ready.p, i64 1 acq_rel
  ret void
}}

; Set LIMIT and BLAS's number of threads, wake everyone, wait until no more than that are there.
define void @gradc_set_limit(i64 %limit, i32 %threads) {{
entry:
  {at("limit.p", LIMIT)}
  {at("ready.p", READY)}
  {at("mutex", MUTEX)}
  {at("condition", CONDITION)}
  br label %claim
claim:
  %won = call i1 @gradc_claim()
  br i1 %won, label %held, label %again
again:
  %r0 = call i32 @sched_yield()
  br label %claim
held:
  {at("set.p", BLAS_SET)}
  %set = load ptr, ptr %set.p
  %none = icmp eq ptr %set, null
  br i1 %none, label %limiting, label %blas
blas:
  {at("blas.m", BLAS_MUTEX)}
  %b1 = call i32 @pthread_mutex_lock(ptr %blas.m)
  call void %set(i32 %threads)
  %b2 = call i32 @pthread_mutex_unlock(ptr %blas.m)
  br label %limiting
limiting:
  store atomic i64 %limit, ptr %limit.p seq_cst, align 8
  %r1 = call i32 @pthread_mutex_lock(ptr %mutex)
  %r2 = call i32 @pthread_cond_broadcast(ptr %condition)
  %r3 = call i32 @pthread_mutex_unlock(ptr %mutex)
  br label %look
look:
  %ready = load atomic i64, ptr %ready.p acquire, align 8
  %more = icmp sgt i64 %ready, %limit
  br i1 %more, label %wait, label %out
wait:
  %r4 = call i32 @sched_yield()
  br label %look
out:
  call void @gradc_release()
  ret void
}}
"""


def text(machine: str) -> str:
    """The module for a kind of machine ("x86_64", "arm64", ...)."""
    x86, arm = "call void @llvm.x86.sse2.pause()", "call void @llvm.aarch64.hint(i32 1)"
    pause = {"x86_64": x86, "AMD64": x86, "aarch64": arm, "arm64": arm}
    declared = {
        x86: "declare void @llvm.x86.sse2.pause()",
        arm: "declare void @llvm.aarch64.hint(i32)",
    }
    relax = pause.get(machine, 'fence syncscope("singlethread") seq_cst')
    parts = (declared.get(relax, ""), HEADER, ONE_JOB, PUBLISH, WORKER, POLL, LAUNCH, BLAS_JOBS)
    return "".join(parts).replace("PAUSE", relax)


PROVIDED = ("gradc_launch", "gradc_poll")
NATIVE = ("gradc_worker", "gradc_set_limit", "gradc_blas_jobs")
