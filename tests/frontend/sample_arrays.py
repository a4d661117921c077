"""Arrays of many dtypes and shapes for the comparisons with NumPy."""

from __future__ import annotations

import numpy as np

rng = np.random.default_rng(7)
V = rng.normal(size=5)
W = rng.normal(size=5)
A = rng.normal(size=(3, 4))
B = rng.normal(size=(4, 5))
C = rng.normal(size=(2, 3, 4))
D = rng.normal(size=(2, 4, 3))
S = rng.normal(size=(4, 4))
F32 = A.astype(np.float32)
F16 = A.astype(np.float16)
I = rng.integers(-5, 9, (3, 4))
I8 = I.astype(np.int8)
U8 = rng.integers(0, 200, (3, 4)).astype(np.uint8)
M = A > 0
Z = A + 1j * rng.normal(size=(3, 4))
Z32 = Z.astype(np.complex64)
E = np.zeros((0, 3))
NAN = np.where(A > 1, np.nan, A)
ONE = rng.normal(size=(1, 4))
X0 = np.array(1.5)
ALL = (V, A, C, F32, F16, I, I8, U8, M, Z, Z32, X0)
