"""How long native loops look for signals, as LLVM text; see pool.py."""

from __future__ import annotations

from gradc.ir.program import RECORD_RANK, RECORD_THREAD
from gradc.runtime.pool_state import INTERRUPTED

POLL_NEAR, POLL_FAR, LOOK_AFTER = 2_000_000, 10_000_000, 50_000_000  # nanoseconds

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
