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

from gradc.ir.program import RECORD_POLL, RECORD_RANK, RECORD_THREAD

# Places in the pool's state, in words of 8 bytes; those that several threads write lie 64 bytes
# apart.
WORD, FUNCTION, DATA, STRIDE, EXTRA = 0, 8, 9, 10, 11
DONE, OWNER, SLEEPERS, READY, LIMIT = 16, 24, 32, 40, 48
MUTEX, CONDITION = 56, 72  # pthread_mutex_t and pthread_cond_t: 128 bytes for each
BLAS_GET, BLAS_SET = 88, 89  # OpenBLAS's functions for its number of threads, or 0
BLAS_MUTEX = 96  # OpenBLAS's threads share work space: one of its parallel calls at a time
WORDS = 112

SLEEP_AFTER = 200_000  # nanoseconds without work
BLAS_PATIENCE = 20_000  # nanoseconds that BLAS waits for the pool
NO_RANK = 2**63 - 1
INTERRUPTED = -2  # a rank below every job's
CLOCK = getattr(time, "CLOCK_MONOTONIC", 1)
POLL_NEAR, POLL_FAR, LOOK_AFTER = 2_000_000, 10_000_000, 50_000_000  # nanoseconds


def _at(name: str, place: int) -> str:
    return f"%{name} = getelementptr i64, ptr @gradc_pool_state, i64 {place}"


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
  {_at("word.p", WORD)}
  {_at("fn.p", FUNCTION)}
  {_at("data.p", DATA)}
  {_at("stride.p", STRIDE)}
  {_at("extra.p", EXTRA)}
  {_at("done.p", DONE)}
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
  {_at("word.p", WORD)}
  {_at("fn.p", FUNCTION)}
  {_at("data.p", DATA)}
  {_at("stride.p", STRIDE)}
  {_at("extra.p", EXTRA)}
  {_at("done.p", DONE)}
  {_at("sleepers.p", SLEEPERS)}
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
  {_at("mutex", MUTEX)}
  {_at("condition", CONDITION)}
  %r1 = call i32 @pthread_mutex_lock(ptr %mutex)
  %r2 = call i32 @pthread_cond_broadcast(ptr %condition)
  %r3 = call i32 @pthread_mutex_unlock(ptr %mutex)
  br label %done
done:
  ret void
}}

define internal void @gradc_await(i64 %jobs) {{
entry:
  {_at("done.p", DONE)}
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
  {_at("owner.p", OWNER)}
  %swap = cmpxchg ptr %owner.p, i64 0, i64 1 acquire monotonic
  %won = extractvalue {{ i64, i1 }} %swap, 1
  ret i1 %won
}}

define internal void @gradc_release() {{
  {_at("owner.p", OWNER)}
  store atomic i64 0, ptr %owner.p release, align 8
  ret void
}}
"""

# What a worker thread runs; it leaves when its number is not below LIMIT.
WORKER = f"""
define void @gradc_worker(i64 %number) {{
entry:
  {_at("word.p", WORD)}
  {_at("limit.p", LIMIT)}
  {_at("ready.p", READY)}
  {_at("sleepers.p", SLEEPERS)}
  {_at("mutex", MUTEX)}
  {_at("condition", CONDITION)}
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
  {_at("limit.p", LIMIT)}
  {_at("ready.p", READY)}
  {_at("mutex", MUTEX)}
  {_at("condition", CONDITION)}
  br label %claim
claim:
  %won = call i1 @gradc_claim()
  br i1 %won, label %held, label %again
again:
  %r0 = call i32 @sched_yield()
  br label %claim
held:
  {_at("set.p", BLAS_SET)}
  %set = load ptr, ptr %set.p
  %none = icmp eq ptr %set, null
  br i1 %none, label %limiting, label %blas
blas:
  {_at("blas.m", BLAS_MUTEX)}
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

# The status of a launch from the record: done, failed, or interrupted (a Python exception is set).
LAUNCH = f"""
define internal i32 @gradc_outcome(ptr %record) {{
  %rank.p = getelementptr i64, ptr %record, i64 {RECORD_RANK}
  %rank = load atomic i64, ptr %rank.p monotonic, align 8
  %done = icmp eq i64 %rank, {NO_RANK}
  %stopped = icmp eq i64 %rank, {INTERRUPTED}
  %bad = select i1 %stopped, i32 3, i32 1
  %status = select i1 %done, i32 0, i32 %bad
  ret i32 %status
}}

define i32 @gradc_launch(ptr %job, ptr %context, i64 %jobs, ptr %record, i32 %blas) {{
entry:
  %clock = getelementptr i64, ptr %record, i64 {RECORD_POLL}
  {_at("ready.p", READY)}
  %ready = load atomic i64, ptr %ready.p acquire, align 8
  %some = icmp sgt i64 %ready, 0
  %many = icmp sgt i64 %jobs, 1
  %worth = and i1 %some, %many
  br i1 %worth, label %claim, label %alone
claim:
  %won = call i1 @gradc_claim()
  br i1 %won, label %own, label %alone
own:
  {_at("get.p", BLAS_GET)}
  {_at("set.p", BLAS_SET)}
  %set = load ptr, ptr %set.p
  %has = icmp ne ptr %set, null
  %uses = icmp ne i32 %blas, 0
  %single = and i1 %has, %uses
  br i1 %single, label %narrow, label %offer
narrow:
  ; Jobs call BLAS one thread each. Changing its number of threads moves its work space.
  {_at("narrow.m", BLAS_MUTEX)}
  %n1 = call i32 @pthread_mutex_lock(ptr %narrow.m)
  %get = load ptr, ptr %get.p
  %before = call i32 %get()
  call void %set(i32 1)
  %n2 = call i32 @pthread_mutex_unlock(ptr %narrow.m)
  br label %offer
offer:
  %threads = phi i32 [ 0, %own ], [ %before, %narrow ]
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
  br i1 %single, label %widen, label %finish
widen:
  {_at("widen.m", BLAS_MUTEX)}
  %w1 = call i32 @pthread_mutex_lock(ptr %widen.m)
  call void %set(i32 %threads)
  %w2 = call i32 @pthread_mutex_unlock(ptr %widen.m)
  br label %finish
finish:
  call void @gradc_release()
  %status = call i32 @gradc_outcome(ptr %record)
  ret i32 %status
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
  ret i32 %so.far
}}
"""

# OpenBLAS's parallel jobs, all at the same time: it is the callback of
# openblas_set_threads_callback_function(sync, job, count, size of a datum, data, extra). The
# caller may hold the GIL, so nothing here waits for a thread that may need it.
BLAS_JOBS = f"""
define internal ptr @gradc_blas_thread(ptr %call) {{
  %fn = load ptr, ptr %call
  %k.p = getelementptr i64, ptr %call, i64 1
  %k = load i64, ptr %k.p
  %data.p = getelementptr i64, ptr %call, i64 2
  %data = load ptr, ptr %data.p
  %extra.p = getelementptr i64, ptr %call, i64 3
  %extra = load i64, ptr %extra.p
  %k32 = trunc i64 %k to i32
  %extra32 = trunc i64 %extra to i32
  call void %fn(i32 %k32, ptr %data, i32 %extra32)
  ret ptr null
}}

define void @gradc_blas_jobs(i32 %sync, ptr %fn, i32 %count, i64 %size, ptr %data, i32 %extra) {{
  {_at("mutex", BLAS_MUTEX)}
  %r1 = call i32 @pthread_mutex_lock(ptr %mutex)
  call void @gradc_blas_now(ptr %fn, i32 %count, i64 %size, ptr %data, i32 %extra)
  %r2 = call i32 @pthread_mutex_unlock(ptr %mutex)
  ret void
}}

define internal void @gradc_blas_now(ptr %fn, i32 %count, i64 %size, ptr %data, i32 %extra) {{
entry:
  {_at("ready.p", READY)}
  %jobs = sext i32 %count to i64
  %extra64 = sext i32 %extra to i64
  %others = sub i64 %jobs, 1
  %start = call i64 @gradc_now()
  br label %claim
claim:
  %ready = load atomic i64, ptr %ready.p acquire, align 8
  %enough = icmp sge i64 %ready, %others
  br i1 %enough, label %try, label %threads
try:
  %won = call i1 @gradc_claim()
  br i1 %won, label %own, label %busy
busy:
  %now = call i64 @gradc_now()
  %waited = sub i64 %now, %start
  %long = icmp sgt i64 %waited, {BLAS_PATIENCE}
  br i1 %long, label %threads, label %again
again:
  %r0 = call i32 @sched_yield()
  br label %claim
own:
  ; With the pool held no worker leaves it, so the count of workers holds.
  %ready2 = load atomic i64, ptr %ready.p acquire, align 8
  %enough2 = icmp sge i64 %ready2, %others
  br i1 %enough2, label %offer, label %giveup
giveup:
  call void @gradc_release()
  br label %threads
offer:
  call void @gradc_publish(ptr %fn, ptr %data, i64 %size, i64 %jobs, i64 %extra64)
  br label %work
work:
  %worked = call i1 @gradc_one_job()
  br i1 %worked, label %work, label %wait
wait:
  call void @gradc_await(i64 %jobs)
  call void @gradc_release()
  ret void
threads:
  ; The pool is busy or too small: threads of their own.
  %bytes = mul i64 %jobs, 40
  %calls = call ptr @malloc(i64 %bytes)
  br label %make
make:
  %k = phi i64 [ 1, %threads ], [ %k1, %made ]
  %more = icmp slt i64 %k, %jobs
  br i1 %more, label %one, label %mine
one:
  %offset = mul i64 %k, 40
  %call = getelementptr i8, ptr %calls, i64 %offset
  store ptr %fn, ptr %call
  %k.p = getelementptr i64, ptr %call, i64 1
  store i64 %k, ptr %k.p
  %own.offset = mul i64 %k, %size
  %own.data = getelementptr i8, ptr %data, i64 %own.offset
  %data.p = getelementptr i64, ptr %call, i64 2
  store ptr %own.data, ptr %data.p
  %extra.p = getelementptr i64, ptr %call, i64 3
  store i64 %extra64, ptr %extra.p
  %thread.p = getelementptr i64, ptr %call, i64 4
  br label %spawn
spawn:
  ; These jobs cannot run one after another: without a thread there is only trying again.
  %r1 = call i32 @pthread_create(ptr %thread.p, ptr null, ptr @gradc_blas_thread, ptr %call)
  %created = icmp eq i32 %r1, 0
  br i1 %created, label %made, label %retry
retry:
  %r2 = call i32 @sched_yield()
  br label %spawn
made:
  %k1 = add i64 %k, 1
  br label %make
mine:
  call void %fn(i32 0, ptr %data, i32 %extra)
  br label %join
join:
  %j = phi i64 [ 1, %mine ], [ %j1, %joining ]
  %left = icmp slt i64 %j, %jobs
  br i1 %left, label %joining, label %out
joining:
  %j.offset = mul i64 %j, 40
  %j.call = getelementptr i8, ptr %calls, i64 %j.offset
  %j.thread.p = getelementptr i64, ptr %j.call, i64 4
  %j.thread = load ptr, ptr %j.thread.p
  %r3 = call i32 @pthread_join(ptr %j.thread, ptr null)
  %j1 = add i64 %j, 1
  br label %join
out:
  call void @free(ptr %calls)
  ret void
}}
"""

# Long loops count down the first word of a clock (count, budget, last visit, last question) and
# come here at zero. The budget adapts to a few milliseconds between visits; every 50 ms the thread
# that Python called asks for signals, the others see whether it was told to stop. 0, or 3 to stop.
POLL = f"""
define i32 @gradc_poll(ptr %record, ptr %clock) {{
entry:
  %budget.p = getelementptr i64, ptr %clock, i64 1
  %visit.p = getelementptr i64, ptr %clock, i64 2
  %asked.p = getelementptr i64, ptr %clock, i64 3
  %thread.p = getelementptr i64, ptr %record, i64 {RECORD_THREAD}
  %self.p = getelementptr i64, ptr %record, i64 {RECORD_THREAD + 1}
  %rank.p = getelementptr i64, ptr %record, i64 {RECORD_RANK}
  %now = call i64 @gradc_now()
  %budget = load i64, ptr %budget.p
  %visit = load i64, ptr %visit.p
  %since = sub i64 %now, %visit
  %near = icmp slt i64 %since, {POLL_NEAR}
  %far = icmp sgt i64 %since, {POLL_FAR}
  %double = shl i64 %budget, 1
  %half = lshr i64 %budget, 2
  %b1 = select i1 %near, i64 %double, i64 %budget
  %b2 = select i1 %far, i64 %half, i64 %b1
  %b3 = call i64 @llvm.smax.i64(i64 %b2, i64 1)
  %b4 = call i64 @llvm.smin.i64(i64 %b3, i64 1048576)
  store i64 %b4, ptr %budget.p
  store i64 %b4, ptr %clock
  store i64 %now, ptr %visit.p
  %rank = load atomic i64, ptr %rank.p monotonic, align 8
  %stopped = icmp eq i64 %rank, {INTERRUPTED}
  br i1 %stopped, label %stop, label %when
when:
  %asked = load i64, ptr %asked.p
  %quiet = sub i64 %now, %asked
  %due = icmp sgt i64 %quiet, {LOOK_AFTER}
  br i1 %due, label %whose, label %go
whose:
  store i64 %now, ptr %asked.p
  %self = load i64, ptr %self.p
  %mine = call i64 @pthread_self()
  %ours = icmp eq i64 %self, %mine
  br i1 %ours, label %python, label %go
python:
  %thread = load ptr, ptr %thread.p
  call void @PyEval_RestoreThread(ptr %thread)
  %raised = call i32 @PyErr_CheckSignals()
  %again = call ptr @PyEval_SaveThread()
  store ptr %again, ptr %thread.p
  %fine = icmp eq i32 %raised, 0
  br i1 %fine, label %go, label %tell
tell:
  store atomic i64 {INTERRUPTED}, ptr %rank.p monotonic, align 8
  br label %stop
go:
  ret i32 0
stop:
  ret i32 3
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
