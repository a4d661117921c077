"""Templates of the statements that random NumPy programs are made of.

A placeholder is filled from the left: {f} a floating value, {v} one with an axis, {m} one with two,
{w} one with the last value's shape, {i} {iv} an integer value, {b} a boolean one, {a} {av} any;
{0}, {1} ... the values picked so far. {axis}, {axes}, {perm}, {key} ... fit the last value picked.

A `Template` may have a guard: the array of distances from a kink (`kink`; a distance of exactly
zero is one that stays zero) or from a jump (`jump`).
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Template:
    """text: an expression; analytic: holds for complex arguments too, for complex steps.

    dynamic: the size of the result is known at run time only: it is returned, but not used further
    """

    text: str
    analytic: bool = False
    kink: str = ""
    jump: str = ""
    dynamic: bool = False


def analytic(*texts: str) -> list[Template]:
    return [Template(text, analytic=True) for text in texts]


def real(*texts: str) -> list[Template]:
    return [Template(text) for text in texts]


def kinked(guard: str, *texts: str) -> list[Template]:
    return [Template(text, kink=guard) for text in texts]


def jumping(guard: str, *texts: str) -> list[Template]:
    return [Template(text, jump=guard) for text in texts]


UNARY = analytic(
    "np.sin({f})", "np.cos({f})", "np.tanh({f})", "np.exp(0.3 * {f})", "np.expm1({f} * 0.2)",
    "np.square({f})", "-{f}", "+{f}", "{f} ** 2", "{f} ** 3", "{f} * {0}", "np.sinh({f} * 0.3)",
    "np.cosh({f} / 4)", "np.arcsinh({f})", "np.log1p(np.square({f}))", "np.sqrt(1.0 + {f} ** 2)",
    "np.log(2.0 + np.sin({f}))", "np.log2(np.cos({f}) + 2)", "np.log10(3 + np.sin({f}))",
    "np.exp2({f} * 0.3)", "np.reciprocal(np.cos({f}) + 2.5)", "1.0 / (2.0 + {f} ** 2)",
    "np.arcsin(0.9 * np.sin({f}))", "np.arccos(np.tanh({f}) * 0.8)", "np.arctan({f})",
    "np.arctanh(0.8 * np.sin({f}))", "np.arccosh(np.square({f}) + 2.0)", "2.0 ** {f}",
    "np.tan(np.sin({f}) / 2)", "np.power(np.sin({f}) + 1.5, 1.7)", "np.negative({f})",
    "(2 + np.cos({f})) ** 0.5", "(2 + np.cos({f})) ** -1.5", "np.positive({f})", "{f}.copy()",
    "1 - np.tanh({f}) ** 2", "np.log(np.exp({f}) + 1)", "np.polyval([0.5, -1.0, 0.3], {f})",
    "1 / (1 + np.exp(-{f}))", "np.emath.sqrt(1.5) * {f}", "{f} ** 0", "{f} ** 1",
)  # fmt: skip
UNARY += real(
    "np.cbrt(np.sin({f}) + 2.0)", "special.expit({f})", "special.erf({f})", "np.sinc({f})",
    "np.deg2rad({f} * 30)", "np.degrees({f}) / 60", "np.real({f})", "np.conj({f})", "{f}.real",
    "special.log1p({f} ** 2)", "np.float_power(np.sin({f}) + 2, 1.3)", "np.nan_to_num({f})",
    "np.hypot({f}, 1.5)", "np.arctan2({f}, 2.0)", "np.logaddexp({f}, 0.0)",
    "special.softmax({v}, axis={axis})", "special.log_softmax({v}, axis={axis})", "np.imag({f})",
    "special.xlogy({f}, {0} ** 2 + 0.5)",
)  # fmt: skip
UNARY += kinked(
    "{0}", "np.abs({f})", "abs({f})", "np.maximum({f}, 0)", "np.maximum(0.0, {f})",
    "np.where({f} > 0, np.sin({0}), {0} / 2)", "np.fabs({f})", "np.clip({f}, 0, 6)",
    "np.minimum({f}, 0)", "np.absolute({f}) ** 1.5", "{f}.clip(0)", "np.copysign({f}, -1.0)",
)  # fmt: skip
UNARY += kinked("np.abs({0}) - 1", "np.clip({f}, -1, 1)", "{f}.clip(-1.0, 1.0)")
UNARY += jumping("{0} - np.floor({0} + 0.5)", "np.floor({f})", "np.ceil({f})", "np.trunc({f})",
                 "{f} // 1", "{f} % 1.0", "np.mod({f}, 1)", "np.fix({f})", "{f}.astype(int)",
                 "np.fmod({f}, 1.0)", "np.modf({f})[0]")  # fmt: skip
UNARY += jumping("{0} - np.floor({0}) - 0.5", "np.round({f})", "np.rint({f})", "{f}.round()")
UNARY += jumping("{0}", "np.sign({f})", "{f} > 0", "np.signbit({f})", "np.heaviside({f}, 0.5)",
                 "0 >= {f}", "{f} != 0", "np.less({f}, 0.0)")  # fmt: skip

BINARY = analytic(
    "{f} + {f}", "{f} - {f}", "{f} * {f}", "{f} / (2.0 + {f} ** 2)", "np.add({f}, {f})",
    "np.multiply({f}, {f})", "np.subtract({f}, 1)", "np.divide({f}, np.cos({f}) + 3)", "{f} + {i}",
    "{i} * {f}", "{f} - {b}", "2 * {f} + 1", "3 - {f}", "{f} / 2", "1 / ({f} ** 2 + 1)",
    "np.true_divide({f}, 4)", "(np.sin({f}) + 2) ** {f}", "np.power({f} ** 2 + 1, {i})",
    "{f} ** {i}", "{f} + np.float64(0.5)", "{f} * single(0.5)", "np.sin({f}) + np.cos({0})",
    "({f} + {f}) * {f}", "{f} + {c}", "{c} * {f}",
    "np.exp(-({f} - {c}) ** 2)", "{f} * {b}", "-{f} + {i} / 3", "{f} + 1j.imag",
    "{f} / ({i} ** 2 + 1)",
)  # fmt: skip
BINARY += real(
    "np.hypot({f}, np.cos({f}) + 2)", "np.arctan2({f}, np.sin({f}) + 2)", "np.logaddexp({f}, {f})",
    "np.logaddexp2({f}, {f})", "np.where({b}, {f}, {f})", "np.where({b}, {f}, 0.0)",
    "np.where({b}, 1, {f})", "np.ldexp({f}, 1)", "np.where({b}, np.log({f} ** 2 + 0.1), {f})",
    "np.select([{b}, {b}], [{f}, {f}], default=0.5)", "np.choose({b} * 1, [{f}, {f}])",
    "np.where({b}, {f}, {i})", "np.interp(0.5, [0.0, 1.0], [1.0, 2.0]) * {f}",
)  # fmt: skip
BINARY += kinked(
    "{0} - {1}", "np.maximum({f}, {f})", "np.minimum({f}, {f})", "np.fmax({f}, {f})",
    "np.fmin({f}, {f})", "np.maximum({f}, {c})", "np.where({f} > {f}, {0}, {1})",
    "np.clip({f}, {f}, 50.0)", "abs({f} - {f})", "np.clip({f}, None, {f})",
)  # fmt: skip
BINARY += jumping(
    "{0} - {1}", "{f} > {f}", "{f} <= {f}", "np.greater_equal({f}, {f})", "{f} < {c}",
    "np.sign({f} - {f})", "np.where({f} < {f}, np.exp({0}), {1})",
)  # fmt: skip
BINARY += jumping("{0} / (2 + {1} ** 2) - np.round({0} / (2 + {1} ** 2))",
                  "{f} // (2 + {f} ** 2)", "{f} % (2 + {f} ** 2)",
                  "np.floor_divide({f}, {f} ** 2 + 2)",
                  "divmod({f}, {f} ** 2 + 2)[1]")  # fmt: skip

REDUCE = analytic(
    "np.sum({f}, axis={axes})", "np.sum({v}, axis={axis}, keepdims=True)", "{f}.sum()", "sum({v})",
    "{v}.sum(axis={axis})", "np.mean({f}, axis={axes})", "{v}.mean({axis})", "np.prod({v}, {axis})",
    "np.mean({v}, axis={axis}, keepdims=True)", "{f}.prod(axis={axes})", "np.trace({m})",
    "np.sum({f}, axis={axes}, where={b})", "np.prod({f}, where={b})", "np.nansum({f}, {axes})",
    "np.sum({v}, axis={axis}, initial=0.5)", "np.average({v}, axis={axis})", "np.add.reduce({v})",
    "np.average({v}, axis={axis}, weights=np.square({w}) + 0.5)", "{f}.mean(axis={axes})",
    "np.sum({f} * {f}, axis={axes})", "np.multiply.reduce({v})",
    "np.trapezoid({v}, axis={axis})", "np.sqrt(np.sum({v} ** 2, axis={axis}) + 0.3)",
    "np.log(np.sum(np.exp({v}), axis={axis}))", "np.mean({f}, where={b}, axis={axes})",
    "np.diagonal({m}).sum()", "{m}.trace()", "np.exp({v}) / np.exp({0}).sum(-1, keepdims=True)",
    "({v} - {0}.mean(-1, keepdims=True)) ** 2",
)  # fmt: skip
REDUCE += real(
    "np.sum({f}, dtype=np.float64)",
    "np.var({f}, axis={axes})", "{v}.var({axis}, ddof=0)", "np.std(np.append({f}, [3.0, -4.0]))",
    "np.var({v}, axis={axis}, keepdims=True)", "np.linalg.norm(np.append({f}, 1.5))",
    "special.logsumexp({f}, axis={axes})", "special.logsumexp({v}, axis={axis}, keepdims=True)",
    "special.logsumexp({v}, axis={axis}, b=np.square({w}) + 0.1)", "np.logaddexp.reduce({v})",
    "np.linalg.norm({v}, axis={axis}) * 0", "np.cov({m})", "np.linalg.norm({m} + 3.0)",
    "np.linalg.norm({v} + 4.0, axis={axis}, keepdims=True)", "np.linalg.norm({v} + 9, 3, {axis})",
    "np.var({v}, axis={axis}, mean=np.mean({0}, axis={axis}, keepdims=True))",
    "np.std({v} * 0.1 + np.arange(np.shape({0})[-1]), axis=-1) + 0.0", "np.nanmean({f}, {axes})",
)  # fmt: skip
REDUCE += kinked("apart({0})", "np.max({f}, axis={axes})", "np.min({f}, axis={axes})",
                 "max({v}) if {0}.ndim == 1 else {0}",
                 "{v}.max({axis}, keepdims=True)", "{f}.min()", "np.ptp({f}, axis={axes})",
                 "np.max({f}, axis={axes}, initial=0.5, where={b})", "np.amin({v}, axis={axis})",
                 "np.maximum.reduce({v})", "np.nanmax({f})", "{v} - {0}.max()",
                 "np.exp({v} - np.max({0}, axis={axis}, keepdims=True))")  # fmt: skip
REDUCE += kinked("{0}", "np.linalg.norm({v}, 1, axis={axis})")
REDUCE += jumping("apart({0})", "np.argmax({v}, axis={axis})", "{v}.argmin()", "np.argmin({f})",
                  "{v}.argmax({axis})", "{v}[np.argmax({0}, axis=0)]",
                  "np.argmax({v}, axis={axis}, keepdims=True)",
                  "np.take_along_axis({v}, np.argmax({0}, axis=-1, keepdims=True), axis=-1)",
                  "{v}.ravel()[{0}.argmin()]")  # fmt: skip

MOVE = analytic(
    "np.reshape({f}, -1)", "{f}.reshape(-1)", "{f}.ravel()", "{m}.T", "np.transpose({f})", "{f}.T",
    "np.transpose({v}, {perm})", "{v}.transpose({perm})", "{v}.reshape({shape})", "{f}.flatten()",
    "np.swapaxes({v}, {axis}, {axis})", "np.moveaxis({v}, {axis}, {axis})", "np.squeeze({f})",
    "np.expand_dims({f}, {newaxis})", "np.flip({f})", "np.flip({v}, {axis})", "{f}.squeeze()",
    "np.roll({v}, {small}, axis={axis})", "np.roll({f}, {small})", "np.tile({f}, {times})",
    "np.pad({v}, {width})", "np.pad({v}, 1, constant_values=0.5)", "np.pad({v}, 1, mode='edge')",
    "np.pad({v}, (1, 2), mode='wrap')", "np.repeat({v}, {times1}, axis={axis})", "{m}.mT",
    "np.repeat({f}, 2)", "np.broadcast_to({f}, (2, *np.shape({0})))", "np.atleast_1d({f})",
    "np.atleast_2d({f})", "np.rot90({m}, {small})", "np.fliplr({m})", "np.tril({m})",
    "np.diag({m})",     "np.triu({m}, {small})", "np.diag({v}.ravel())",
    "np.diff({v}, axis={axis})", "np.flipud({v})",
    "np.ravel({m}, order='F')", "np.reshape({v}, {shape}, order='F')", "np.asarray({f})",
    "np.array({f})", "np.full_like({f}, 0.5) * {0}", "np.zeros_like({f}) + {0}", "{v}.repeat(2, 0)",
    "np.eye(np.shape({v})[-1]) * {0}", "np.ones(np.shape({f})) - {0}", "np.rollaxis({v}, {axis})",
    "np.linspace(0.0, 1.0, np.shape({v})[-1]) * {0}", "{v} * np.arange({0}.shape[-1])",
    "np.gradient(np.append({f}, [0.5, 1.0]))", "np.vander({v}.ravel()[:3], 3)", "np.ediff1d({f})",
    "np.resize({v}, (2, 3))", "np.delete({v}, 0, axis={axis})", "np.atleast_3d({f})",
    "np.fromfunction(lambda i: i * 0.5, (np.shape({v})[-1],)) + {0}", "np.copy({f})",
    "np.pad({v}, 1, mode='symmetric')", "{v}.diagonal() if {0}.ndim > 1 else {0}",
)  # fmt: skip
MOVE += [Template("{f}.astype(single)"), Template("single(0.25) + {f}"),
         Template("{f}.astype(np.float64)"), Template("np.asarray({f}, dtype=single)"),
         Template("np.pad({v}, np.shape({0})[-1] > 2, mode='reflect')", analytic=True)]  # fmt: skip

JOIN = analytic(
    "np.concatenate([{v}, {w}], axis={axis})", "np.concatenate([{f}, {f}], axis=None)",
    "np.stack([{f}, {w}])", "np.stack([{f}, {w}, {0}], axis=-1)", "np.hstack([{f}, {f}])",
    "np.vstack([{v}, {w}])", "np.dstack([{f}, {w}])", "np.column_stack([{v}, {w}])",
    "np.append({f}, {f})", "np.append({v}, {w}, axis={axis})", "np.split({v}, 1, axis={axis})[0]",
    "np.array_split({v}, 2, axis={axis})[0]", "np.array_split({v}, 2)[-1]", "np.array([{f}, {w}])",
    "np.array([{f}.sum(), 1.0, {f}.mean()])", "np.block([[{v}.ravel(), 1.0]])",
    "np.concatenate([{v}, {0}[::-1]])", "np.split({v}, [1], axis={axis})[1]",
    "np.meshgrid({v}.ravel()[:3], {v}.ravel()[:3])[0]", "np.concatenate(({v}, {iv}), axis=None)",
    "np.broadcast_arrays({f}, {f})[0]", "np.asarray([{f}.mean(), 2])", "np.kron({v}, {v})",
)  # fmt: skip

INDEX = analytic(
    "{v}[{key}]", "{v}[{key}]", "{v}[{key}]", "{v}[{key}]", "{v}[{key}]", "{v}[{key}]",
    "{v}[{key}]", "{v}[{gather}]", "{v}[{gather}]", "{v}[{gather}]", "{v}[{mask}]", "{v}[{mask}]",
    "np.take({v}, {indices}, axis={axis})", "np.take({f}, [0], mode='clip')", "{f}[None]",
    "{v}.take({indices}, axis={axis})", "np.take_along_axis({v}, {along}, axis=0)", "{f}[...]",
    "{v}.ravel()[np.array([0, -1])]", "{v}[-1]", "{v}[0]", "{f}[np.newaxis, ...]", "{v}[..., 0]",
    "{v}[{iv} % {0}.shape[0]]", "{v}[{i} % {0}.shape[0]]", "np.compress([True], {v}, axis={axis})",
    "{v}[..., None] * {0}[..., None, :]", "np.flatnonzero({c} + 9).sum() * {f}", "{f}[()]",
    "list({v})[-1]", "{v}[1:] - {0}[:-1]", "{v}[::2].sum() + {0}[1::2].sum()",
)  # fmt: skip
# Masks made by the program: the size of the result is known at run time only.
INDEX += real(
    "{v}[{tm}].sum()", "np.sum({v}[{tm}] ** 2)", "np.sin({v})[{tm}].sum() * {f}",
    "np.sum({v}[np.nonzero({tm})])", "np.where({tm}, {0}, 0.5)", "np.sum(np.exp({v}[{tm}] * 0.2))",
    "np.extract({tm}, {v}).sum()", "({v}[{tm}] * 2 + 1).sum()", "np.count_nonzero({tm}) * {f}",
    "{v}[{tm}].ravel().sum(axis=0)",
)  # fmt: skip
INDEX += [
    Template(text, dynamic=True)
    for text in ("{v}[{tm}]", "np.sin({v}[{tm}]) * {0}.sum()", "np.nonzero({tm})[0]",
                 "{v}[{tm}, ...]", "np.exp({v}[np.flatnonzero({tm}) % 2] * 0.1)",
                 "{v}[{tm}][None] * 2.0", "np.extract({tm}, {0}) + {0}.mean()")
]  # fmt: skip

CONTRACT = analytic(
    "np.matmul({v}, {v})", "{v} @ {v}", "{m} @ {m}", "{m} @ {m}.T", "np.dot({f}, {f})",
    "{v} @ {0}.T",     "{v}.dot({v})", "np.inner({v}, {v})", "np.outer({f}, {f})",
    "np.tensordot({v}, {v}, axes=1)",
    "np.tensordot({f}, {f}, axes=0)", "np.tensordot({m}, {w}, axes=([0, 1], [0, 1]))", "{m} @ {v}",
    "np.einsum('ij,ij->j', {m}, {w})", "np.einsum('ij,kj->ik', {m}, {w})", "{v} @ {m}",
    "np.einsum('i,i', {v}, {w})", "np.einsum('...i->...', {v})", "np.einsum('ij->ji', {m})",
    "np.einsum('ii->i', {m} @ {0}.T)", "np.einsum('...i,...i->...', {v}, {w})", "np.dot({v}, 2.0)",
    "np.einsum('i,j->ij', {v}, {v})", "np.einsum('ij,jk,k->i', {m}, {m}, {v})", "np.dot({m}, {v})",
    "np.einsum('...ij,...jk', {m}, {m})", "np.tensordot({m}, {v}, axes=([-1], [0]))",
    "np.multiply.outer({v}, {v})", "np.cross({v}, {w}) if {0}.shape[-1] == 3 else {0}",
    "np.linalg.multi_dot([{m}, {m}, {v}])",
    "np.linalg.matrix_power({m}, 2)", "np.matmul({m}, np.swapaxes({0}, -1, -2))", "{v}.dot({0})",
    "np.einsum({m}, [0, 1], {w}, [0, 1], [0])", "np.add.outer({v}, {f})", "np.matmul({m}, {iv})",
)  # fmt: skip
CONTRACT += real("np.vdot({f}, {f})", "np.vecdot({v}, {v})")

SCAN = analytic(
    "np.cumsum({v}, axis={axis})", "{f}.cumsum()", "np.cumprod({v}, axis={axis})",
    "{v}.cumprod({axis})", "np.cumsum({f})", "np.add.accumulate({v})", "np.cumsum({v}[::-1])[::-1]",
)  # fmt: skip
SCAN += kinked("apart({0})", "np.maximum.accumulate({v})")

INTEGER = analytic(
    "{i} + {i}", "{i} - 3", "{i} * {i}", "{i} // 3", "{i} % 4", "{i} // {i}", "{i} % {i}", "-{i}",
    "abs({i})", "{i} & {i}", "{i} | 1", "{i} ^ {i}", "~{i}", "{i} << 1", "{i} >> 1", "{i}.sum()",
    "np.sum({iv}, axis={axis})", "np.max({i})", "{iv}.argmax()", "np.cumsum({iv})", "np.sign({i})",
    "np.mean({iv}, axis={axis})", "{i} / 2", "np.maximum({i}, {i})", "np.clip({i}, -1, 2)",
    "{i} + 0.5",     "np.where({b}, {i}, {i})", "{iv}[{key}]", "{i}.astype(np.int8)",
    "np.prod({iv}, axis={axis})",
    "{i} == {i}", "{i} < 2", "{i} ** 2", "np.sqrt(abs({i}) + 1)", "np.divmod({i}, 3)[0]",
    "{i} * True",     "np.square({i})", "np.dot({iv}, {iv})", "{iv}[::-1]", "np.sin({i})",
    "np.arange(4) + {i}",
    "{i}.astype(float)", "np.gcd(12, 8) * {i}", "np.minimum({i}, 2)", "np.invert({i})", "{i} != 1",
    "np.reciprocal({i} * 0 + 1)", "np.var({iv})", "np.left_shift({i}, 1)", "np.remainder({i}, -3)",
    "np.concatenate([{iv}, {iv}], axis=None)", "np.zeros_like({i})", "{i}.astype(np.uint8)",
    "np.max({iv}, axis={axis})", "np.exp({i} * 0.1)", "np.floor_divide({i}, -2)", "len({iv}) + {i}",
)  # fmt: skip

BOOLEAN = analytic(
    "{b} & {b}", "{b} | {b}", "{b} ^ {b}", "~{b}", "np.logical_and({b}, {i})",
    "np.logical_not({b})",     "np.any({b})", "np.all({bv}, axis={axis})", "{b}.sum()",
    "{b} + 0", "{b} * 2.5", "{b} + {b}",
    "np.isfinite({f})", "np.isnan({f})", "np.logical_or({b}, {b})", "np.count_nonzero({b})",
    "{bv}.any({axis})", "{b} == {b}", "np.mean({b})", "{bv}[{key}]", "np.where({b}, 1, 0)",
    "{b}.astype(np.float64)", "np.logical_xor({b}, {b})", "{b} * {f}", "{b} > 0", "np.cumsum({b})",
    "np.sum({b})", "np.isinf({f})", "{bv}.argmax()", "{b}.astype(np.int32)", "np.prod({b})",
)  # fmt: skip

# How often each group is drawn.
GROUPS = (
    (UNARY, 5), (BINARY, 6), (REDUCE, 4), (MOVE, 4), (JOIN, 2), (INDEX, 4), (CONTRACT, 3),
    (SCAN, 1), (INTEGER, 2), (BOOLEAN, 1),
)  # fmt: skip
