"""How OpenBLAS hands its parallel jobs to the pool, as LLVM text; see pool.py."""

from __future__ import annotations

from gradc.runtime.pool_state import BLAS_MUTEX, READY, at

BLAS_PATIENCE = 20_000  # nanoseconds that BLAS waits for the pool

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
  {at("mutex", BLAS_MUTEX)}
  %r1 = call i32 @pthread_mutex_lock(ptr %mutex)
  call void @gradc_blas_now(ptr %fn, i32 %count, i64 %size, ptr %data, i32 %extra)
  %r2 = call i32 @pthread_mutex_unlock(ptr %mutex)
  ret void
}}

define internal void @gradc_blas_now(ptr %fn, i32 %count, i64 %size, ptr %data, i32 %extra) {{
entry:
  {at("ready.p", READY)}
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
