"""Random straight-line NumPy programs, as Python source.

A statement is drawn from the templates and tried on the program's numbers at once: it stays if
NumPy takes it, its values are finite and moderate, and it is away from kinks and jumps, so that
differences of the program mean its gradient.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy_templates import GROUPS, Template
from program_source import Program, namespace

Draw = Callable[[int], int]  # a number in range(n)

MARGIN = 0.02  # the least distance from a kink
LARGEST = 30.0
MOST_ELEMENTS = 48
_PLACEHOLDER = re.compile(r"\{(\w+)\}")


class Reject(Exception):
    """A statement that cannot be made, or that the program's numbers do not suit."""


def apart(x: Any) -> Any:
    """All distances between elements of an array (kinks of max, jumps of argmax)."""
    flat = np.ravel(x)
    first, second = np.triu_indices(flat.size, 1)
    return flat[first] - flat[second]


class ProgramMaker:
    """Draws one program. `draw(n)` gives the choices; array entries come from a fixed generator."""

    def __init__(self, draw: Draw, seed: int = 0) -> None:
        self.draw = draw
        self.rng = np.random.default_rng(seed)
        self.space = namespace(np.float32)
        self.space["apart"] = apart
        self.names: list[str] = []
        self.endings: list[str] = []  # values that are only returned
        self.captured: dict[str, Any] = {}
        self.sizes = [self.choose((1, 2, 3)), self.choose((2, 3, 4)), self.choose((3, 4, 5, 0))]
        self.most_elements = MOST_ELEMENTS
        if self.chance(10):  # sizes that native code takes as run-time numbers
            self.sizes[self.draw(2)] = self.choose((17, 20, 33))
            self.most_elements = 20 * MOST_ELEMENTS
        self.analytic = True

    # ------------------------------------------------------------------------------ choices
    def choose(self, options: Any) -> Any:
        return options[self.draw(len(options))]

    def chance(self, percent: int) -> bool:
        return self.draw(100) >= 100 - percent

    def shape(self) -> tuple[int, ...]:
        a, b, c = self.sizes
        return tuple(self.choose(
            [(b,), (a, b), (b, b), (), (a,), (b, 1), (1, b), (a, b, 2), (b, a), (3,), (c,)]
        ))  # fmt: skip

    def array(self, kind: str, shape: tuple[int, ...]) -> Any:
        if kind == "f":
            return self.rng.uniform(-2.0, 2.0, shape)
        if kind == "s":
            return self.rng.uniform(-2.0, 2.0, shape).astype(np.float32)
        if kind == "b":
            return self.rng.random(shape) < 0.5
        dtype = self.choose((np.int64, np.int32, np.int64, np.uint8, np.int16))
        return self.rng.integers(0 if dtype == np.uint8 else -3, 4, shape).astype(dtype)

    def leaf(self) -> Any:
        kind = self.choose("ffffffffsib")
        how = self.draw(12)
        if how == 11:
            return float(self.rng.uniform(-2, 2)) if kind in "fs" else int(self.rng.integers(1, 4))
        if how == 10:
            return np.asarray(self.array(kind, ()))[()]  # a NumPy scalar
        return np.asarray(self.array(kind, self.shape()))

    # ---------------------------------------------------------------------------- the program
    def make(self, inputs: int, steps: int, results: int) -> Program:
        arguments, parameters = self.arguments(inputs)
        statements: list[str] = []
        tries = 0
        while len(statements) < steps and tries < 40 * steps:
            tries += 1
            try:
                statements.append(self.statement(f"t{len(statements)}"))
            except Reject:
                continue
        result, losses = self.results(results)
        values = [self.space[name] for name in self.names] + list(self.captured.values())
        has_single = any(getattr(v, "dtype", None) == np.float32 for v in values)
        return Program(statements, parameters, result, losses, arguments, dict(self.captured),
                       self.analytic and not has_single, has_single)  # fmt: skip

    def arguments(self, count: int) -> tuple[tuple[Any, ...], list[str]]:
        """Leaves, some of them grouped into a dict, tuple or list; at least one float array."""
        arguments: list[Any] = []
        lines: list[str] = []
        for k in range(count):
            name = f"x{k}"
            leaf = np.asarray(self.array("f", self.shape())) if k == 0 else self.leaf()
            arguments.append(leaf)
            self.space[name] = leaf
            self.names.append(name)
            lines.append(f"{name} = p{k}")
        if count > 2 and self.chance(40):
            kind = self.draw(3)
            first, second = arguments[-2:]
            packed = [{"a": first, "b": [second]}, (first, second), [first, {"z": second}]][kind]
            paths = [('["a"]', '["b"][0]'), ("[0]", "[1]"), ("[0]", '[1]["z"]')][kind]
            arguments[-2:] = [packed]
            lines[-2:] = [f"x{count - 2} = p{count - 2}{paths[0]}",
                          f"x{count - 1} = p{count - 2}{paths[1]}"]  # fmt: skip
        return tuple(arguments), lines

    def statement(self, name: str) -> str:
        groups = [group for group, weight in GROUPS for _ in range(weight)]
        template: Template = self.choose(self.choose(groups))
        self.picked: list[str] = []
        text = self.fill(template.text)
        value = self.evaluate(text)
        self.check(value)
        for guard, zero_allowed in ((template.kink, True), (template.jump, False)):
            if guard:
                distances = np.abs(np.asarray(self.evaluate(guard.format(*self.picked)), float))
                near = distances < MARGIN
                if zero_allowed:
                    near &= distances != 0
                if near.any():
                    raise Reject
        if np.asarray(value).dtype.kind == "f" and np.any(np.abs(value) > 5.0):
            text = f"np.tanh(({text}) / 8.0)"
            value = self.evaluate(text)
        self.space[name] = value
        (self.endings if template.dynamic else self.names).append(name)
        self.analytic &= template.analytic
        return f"{name} = {text}"

    def evaluate(self, text: str) -> Any:
        try:
            with np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return eval(text, self.space)
        except (ValueError, IndexError, TypeError, OverflowError, AttributeError, MemoryError,
                ZeroDivisionError) as error:  # fmt: skip
            raise Reject from error

    def check(self, value: Any) -> None:
        array = np.asarray(value)
        if array.dtype.kind not in "fiub" or array.dtype == np.float16 or array.ndim > 4:
            raise Reject
        if array.size > self.most_elements or not np.all(np.isfinite(array)):
            raise Reject
        if np.any(np.abs(array.astype(float)) > LARGEST):
            raise Reject

    # --------------------------------------------------------------------------- placeholders
    def fill(self, text: str) -> str:
        def found(match: re.Match[str]) -> str:
            word = match.group(1)
            if word.isdigit():
                if int(word) >= len(self.picked):
                    raise Reject
                return self.picked[int(word)]
            return str(getattr(self, f"fill_{word}")())

        return _PLACEHOLDER.sub(found, text)

    def pick(self, kinds: str, least: int = 0) -> str:
        fitting = [
            n for n in self.names
            if np.asarray(self.space[n]).dtype.kind in kinds and np.ndim(self.space[n]) >= least
        ]  # fmt: skip
        if not fitting:
            raise Reject
        name: str = self.choose(fitting[-5:] if self.chance(60) else fitting)
        self.picked.append(name)
        return name

    @property
    def last(self) -> Any:
        return np.asarray(self.space[self.picked[-1]])

    def fill_f(self) -> str:
        return self.pick("f")

    def fill_v(self) -> str:
        return self.pick("f", 1)

    def fill_m(self) -> str:
        return self.pick("f", 2)

    def fill_i(self) -> str:
        return self.pick("iu")

    def fill_iv(self) -> str:
        return self.pick("iu", 1)

    def fill_b(self) -> str:
        return self.pick("b")

    def fill_bv(self) -> str:
        return self.pick("b", 1)

    def fill_w(self) -> str:
        """A floating value with the last one's shape."""
        fitting = [
            n for n in self.names
            if np.asarray(self.space[n]).dtype.kind == "f"
            and np.shape(self.space[n]) == self.last.shape
        ]  # fmt: skip
        self.picked.append(self.choose(fitting))
        return self.picked[-1]

    def fill_c(self) -> str:
        """An array of the closure."""
        if len(self.captured) < 2 or self.chance(30):
            name = f"c{len(self.captured)}"
            kind = self.choose("fffsi")
            self.captured[name] = self.space[name] = np.asarray(self.array(kind, self.shape()))
        self.picked.append(self.choose(list(self.captured)))
        return self.picked[-1]

    def fill_tm(self) -> str:
        """A mask made by the program, from the last value picked or from one picked now."""
        name = self.picked[-1] if self.picked else self.pick("f", 1)
        return f"(np.sin({name} * 3.0) > {self.threshold()})"

    def threshold(self) -> float:
        values = np.sin(self.last * 3.0)
        for level in (0.0, 0.3, -0.4, 2.0, -2.0):
            if np.all(np.abs(values - level) > MARGIN):
                return level
        raise Reject

    def fill_axis(self) -> int:
        rank = max(self.last.ndim, 1)
        return self.draw(2 * rank) - rank

    def fill_axes(self) -> Any:
        rank = self.last.ndim
        options: list[Any] = [None, *range(-rank, rank)]
        options += [(a, b) for a in range(rank) for b in range(a)]
        return self.choose(options)

    def fill_perm(self) -> tuple[int, ...]:
        axes = list(range(self.last.ndim))
        return tuple(axes.pop(self.draw(len(axes))) for _ in range(len(axes)))

    def fill_newaxis(self) -> int:
        return self.draw(2 * self.last.ndim + 2) - self.last.ndim - 1

    def fill_shape(self) -> tuple[int, ...]:
        size = self.last.size
        options: list[tuple[int, ...]] = [(-1,), (1, -1), (-1, 1), (size,)] if size else [(0,)]
        options += [(k, -1) for k in (2, 3, 4) if size and size % k == 0]
        return tuple(self.choose(options))

    def fill_small(self) -> int:
        return self.draw(7) - 3

    def fill_times(self) -> Any:
        return self.choose((2, 1, 3, (2, 1), (1, 2), (2, 2, 1)))

    def fill_times1(self) -> Any:
        return self.choose((2, 1, 3, 0))

    def fill_width(self) -> Any:
        return self.choose(
            [1, (1, 2), tuple((self.draw(3), self.draw(2)) for _ in self.last.shape)]
        )

    def slice(self) -> str:
        start, stop = (self.choose(("", "", "1", "-2", "0", "2", "-1", "5")) for _ in range(2))
        step = self.choose(("", "", "", ":2", ":-1", ":-2", ":3", ":1"))
        return f"{start}:{stop}{step}"

    def fill_key(self) -> str:
        """Basic indexing: ints, slices, None, Ellipsis."""
        items: list[str] = []
        rank = self.draw(self.last.ndim + 1)
        for n in self.last.shape[:rank]:
            items.append(str(self.draw(2 * n) - n) if n and self.chance(40) else self.slice())
        for special_item in ("None", "..."):
            if self.chance(20):
                items.insert(self.draw(len(items) + 1), special_item)
        return ", ".join(items) or ":"

    def fill_gather(self) -> str:
        """Indexing with integer arrays, mixed with the others."""
        shapes = [(3,), (2, 1), (1,), (2, 3), (0,)]
        items: list[str] = []
        for n in self.last.shape[: 1 + self.draw(self.last.ndim)]:
            how = self.draw(5)
            if how < 3 and n:
                index = self.rng.integers(-n, n, self.choose(shapes[:2] if items else shapes))
                items.append(f"np.array({index.tolist()}, dtype=int)")
            elif how == 3 and n:
                items.append(str(self.draw(n)))
            else:
                items.append(self.slice())
        if self.chance(20):
            items.insert(self.draw(len(items) + 1), self.choose(("None", "...")))
        return ", ".join(items)

    def fill_mask(self) -> str:
        """A mask whose values are known while tracing."""
        shape = self.last.shape[: 1 + self.draw(self.last.ndim)]
        mask = self.rng.random(shape) < 0.6
        if not mask.size:
            raise Reject
        return str(mask.tolist())

    def fill_indices(self) -> str:
        if not self.last.size:
            raise Reject
        least = min(self.last.shape)
        return str(self.rng.integers(-least, least, self.choose([(2,), (), (1, 2)])).tolist())

    def fill_along(self) -> str:
        if not self.last.size:
            raise Reject
        n, *rest = self.last.shape
        return f"np.array({self.rng.integers(0, n, (2, *rest)).tolist()})"

    # --------------------------------------------------------------------------------- results
    def results(self, count: int) -> tuple[str, list[str]]:
        """A tree of the last values and some others, and the terms of the loss."""
        names = self.names[-2:][::-1] + [self.choose(self.names) for _ in range(count)]
        floating = [n for n in self.names if np.asarray(self.space[n]).dtype.kind == "f"]
        names += [self.choose(floating[-3:]), *self.endings]
        kind = self.draw(3)
        entries = [f'"r{k}": {n}' if kind == 0 else n for k, n in enumerate(names)]
        if kind == 0:
            result = "{" + ", ".join(entries) + "}"
        else:
            result = "(" if kind == 1 else "["
            result += ", ".join([*entries, f"[{self.choose(self.names)}, None]"])
            result += ")" if kind == 1 else "]"
        losses = []
        for k, n in enumerate(names):
            if np.asarray(self.space[n]).dtype.kind != "f":
                continue
            key = f'"r{k}"' if kind == 0 else str(k)
            if n in self.endings:
                losses.append(f"np.sum(np.sin(out[{key}]))")
                continue
            weight = f"w{k}"
            self.captured[weight] = self.rng.uniform(-1, 1, np.shape(self.space[n]))
            losses.append(f"np.sum(out[{key}] * {weight})")
        return result, losses


def random_program(seed: int) -> Program:
    """The program with this number."""
    rng = np.random.default_rng(seed)
    maker = ProgramMaker(lambda n: int(rng.integers(n)), seed)
    return maker.make(int(rng.integers(1, 5)), int(rng.integers(2, 14)), int(rng.integers(0, 3)))
