"""Several numbers side by side in one vector register: `Lanes`, for kernels that treat several nodes at a time.

A value of this type holds LANES float64 numbers, one per node, and supports + − * / with another such value or a plain
number, so a kernel reads like its scalar form and is vectorised by construction (LLVM's own vectoriser gives up on code
of this size because it cannot rule out that arrays overlap). Without compilation the same functions work on small
NumPy arrays.

    get(w, e), put(w, e, x)              entry e of a flat work array (entries of LANES numbers each)
    load_columns(flat, at, column, w, e)   four numbers of LANES records -> entries e … e+3 (a 4×4 transpose)
    store_columns(w, e, flat, at, column)  and back
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, TypeAlias

import numba
import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic, models, overload, register_model

from ..typing import Floats, Ints

LANES = 4
Lanes: TypeAlias = Any  # in plain Python a NumPy array of LANES numbers

_VECTOR = ir.VectorType(ir.DoubleType(), LANES)
_I32 = ir.IntType(32)
_FUSE = ("contract",)
_SQRT = f"llvm.sqrt.v{LANES}f64"
_COPYSIGN = f"llvm.copysign.v{LANES}f64"


class LanesType(types.Type):
    def __init__(self) -> None:
        super().__init__(name=f"Lanes{LANES}")


lanes_type = LanesType()


@register_model(LanesType)
class _LanesModel(models.PrimitiveModel):
    def __init__(self, dmm: Any, fe_type: Any) -> None:
        super().__init__(dmm, fe_type, _VECTOR)


# -------------------------------------------------------------------- plain Python forms (also the documentation)


def get(w: Floats, e: int) -> Lanes:
    """Entry e of a work array."""
    return w[LANES * e : LANES * (e + 1)].copy()


def put(w: Floats, e: int, x: Lanes) -> None:
    w[LANES * e : LANES * (e + 1)] = x


def load_columns(flat: Floats, at: Ints, column: int, w: Floats, e: int) -> None:
    """w[e + k] = flat[at[:] + column + k] for k = 0 … 3."""
    for k in range(4):
        put(w, e + k, flat[at[:LANES] + column + k])


def store_columns(w: Floats, e: int, flat: Floats, at: Ints, column: int) -> None:
    """flat[at[:] + column + k] = w[e + k] for k = 0 … 3. A record named twice must be given the same numbers."""
    for k in range(4):
        flat[at[:LANES] + column + k] = get(w, e + k)


def lanes_sqrt(x: Lanes) -> Lanes:
    return np.sqrt(x)


def lanes_copysign(x: Lanes, y: Lanes) -> Lanes:
    """|x| with the sign of y."""
    return np.copysign(x, y)


def lanes_sum(x: Lanes) -> float:
    """The sum over the lanes: (x₀ + x₁) + (x₂ + x₃)."""
    return float((x[0] + x[1]) + (x[2] + x[3]))


def prefetch(flat: Floats, at: int, numbers: int) -> None:
    """Ask for the cache lines of flat[at : at + numbers] ahead of time; changes nothing."""


def spread(x: float) -> Lanes:
    """The same number in every lane."""
    return np.full(LANES, x)


# -------------------------------------------------------------------- compiled forms


def _constant(x: float) -> ir.Constant:
    return ir.Constant(_VECTOR, [x] * LANES)


def _broadcast(builder: Any, x: Any) -> Any:
    vector = builder.insert_element(ir.Constant(_VECTOR, ir.Undefined), x, _I32(0))
    return builder.shuffle_vector(
        vector, ir.Constant(_VECTOR, ir.Undefined), ir.Constant(ir.VectorType(_I32, LANES), [0] * LANES)
    )


def _binary(name: str) -> Any:
    def generate(typingctx: Any, a: Any, b: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            x, y = (
                value if kind == lanes_type else _broadcast(builder, context.cast(builder, value, kind, types.float64))
                for value, kind in zip(args, signature.args)
            )
            return getattr(builder, name)(x, y, flags=_FUSE)

        return lanes_type(a, b), codegen

    generate.__name__ = f"_lanes_{name}"
    return intrinsic(generate)


def _overload_operator(op: Any, name: str) -> None:
    function = _binary(name)

    @overload(op, strict=False)
    def operate(a: Any, b: Any) -> Any:
        if lanes_type in (a, b) and all(t == lanes_type or isinstance(t, types.Number) for t in (a, b)):
            return lambda a, b: function(a, b)
        return None


for _op, _name in ((operator.add, "fadd"), (operator.sub, "fsub"), (operator.mul, "fmul"), (operator.truediv, "fdiv")):
    _overload_operator(_op, _name)


@intrinsic
def _negate(typingctx: Any, a: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.fsub(_constant(-0.0), args[0])

    return lanes_type(a), codegen


@overload(operator.neg, strict=False)
def _overload_neg(a: Any) -> Any:
    return (lambda a: _negate(a)) if a == lanes_type else None


@intrinsic
def _sqrt(typingctx: Any, a: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        function_type = ir.FunctionType(_VECTOR, [_VECTOR])
        return builder.call(cgutils.get_or_insert_function(builder.module, function_type, _SQRT), args)

    return lanes_type(a), codegen


@intrinsic
def _copysign(typingctx: Any, a: Any, b: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        function_type = ir.FunctionType(_VECTOR, [_VECTOR, _VECTOR])
        return builder.call(cgutils.get_or_insert_function(builder.module, function_type, _COPYSIGN), args)

    return lanes_type(a, b), codegen


@intrinsic
def _sum(typingctx: Any, a: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        x = [builder.extract_element(args[0], _I32(lane)) for lane in range(LANES)]
        return builder.fadd(builder.fadd(x[0], x[1]), builder.fadd(x[2], x[3]))

    return types.float64(a), codegen


@intrinsic
def _touch(typingctx: Any, flat: Any, at: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, args[0]).data
        index = context.cast(builder, args[1], signature.args[1], types.intp)
        pointer = builder.bitcast(builder.gep(data, [index]), ir.IntType(8).as_pointer())
        function_type = ir.FunctionType(ir.VoidType(), [pointer.type, _I32, _I32, _I32])
        function = cgutils.get_or_insert_function(builder.module, function_type, "llvm.prefetch.p0")
        builder.call(function, [pointer, _I32(0), _I32(3), _I32(1)])  # to read, into all levels, data
        return context.get_dummy_value()

    return types.void(flat, at), codegen


@numba.njit(forceinline=True)
def _prefetch(flat: Floats, at: int, numbers: int) -> None:
    for k in range(0, numbers, 8):  # eight numbers to a cache line
        _touch(flat, at + k)


@intrinsic
def _spread(typingctx: Any, a: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return _broadcast(builder, context.cast(builder, args[0], signature.args[0], types.float64))

    return lanes_type(a), codegen


def _pointer(context: Any, builder: Any, array_type: Any, array: Any, index: Any) -> Any:
    """Address of flat element `index` of a contiguous float64 array, as a pointer to a vector."""
    data = context.make_array(array_type)(context, builder, array).data
    return builder.bitcast(builder.gep(data, [index]), _VECTOR.as_pointer())


def _entry(builder: Any, e: Any) -> Any:
    return builder.mul(e, ir.Constant(e.type, LANES))


@intrinsic
def _get(typingctx: Any, w: Any, e: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        index = context.cast(builder, args[1], signature.args[1], types.intp)
        return builder.load(_pointer(context, builder, signature.args[0], args[0], _entry(builder, index)), align=8)

    return lanes_type(w, e), codegen


@intrinsic
def _put(typingctx: Any, w: Any, e: Any, x: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        index = context.cast(builder, args[1], signature.args[1], types.intp)
        pointer = _pointer(context, builder, signature.args[0], args[0], _entry(builder, index))
        builder.store(args[2], pointer, align=8)
        return context.get_dummy_value()

    return types.void(w, e, x), codegen


def _transpose(builder: Any, rows: list[Any]) -> list[Any]:
    """4×4 transpose of four vectors by shuffles."""

    def shuffle(a: Any, b: Any, order: list[int]) -> Any:
        return builder.shuffle_vector(a, b, ir.Constant(ir.VectorType(_I32, 4), order))

    a, b, c, d = rows
    lo, hi = [0, 4, 2, 6], [1, 5, 3, 7]
    ab_lo, ab_hi, cd_lo, cd_hi = shuffle(a, b, lo), shuffle(a, b, hi), shuffle(c, d, lo), shuffle(c, d, hi)
    return [
        shuffle(ab_lo, cd_lo, [0, 1, 4, 5]),
        shuffle(ab_hi, cd_hi, [0, 1, 4, 5]),
        shuffle(ab_lo, cd_lo, [2, 3, 6, 7]),
        shuffle(ab_hi, cd_hi, [2, 3, 6, 7]),
    ]


def _record_pointers(context: Any, builder: Any, flat_t: Any, flat: Any, at_t: Any, at: Any, column: Any) -> list[Any]:
    starts = context.make_array(at_t)(context, builder, at).data
    out = []
    for lane in range(LANES):
        start = builder.load(builder.gep(starts, [ir.Constant(ir.IntType(64), lane)]))
        out.append(_pointer(context, builder, flat_t, flat, builder.add(start, column)))
    return out


@intrinsic
def _load_columns(typingctx: Any, flat: Any, at: Any, column: Any, w: Any, e: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        t = signature.args
        col = context.cast(builder, args[2], t[2], types.intp)
        e = context.cast(builder, args[4], t[4], types.intp)
        pointers = _record_pointers(context, builder, t[0], args[0], t[1], args[1], col)
        columns = _transpose(builder, [builder.load(p, align=8) for p in pointers])
        for k, values in enumerate(columns):
            index = _entry(builder, builder.add(e, ir.Constant(e.type, k)))
            builder.store(values, _pointer(context, builder, t[3], args[3], index), align=8)
        return context.get_dummy_value()

    return types.void(flat, at, column, w, e), codegen


@intrinsic
def _store_columns(typingctx: Any, w: Any, e: Any, flat: Any, at: Any, column: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        t = signature.args
        col = context.cast(builder, args[4], t[4], types.intp)
        e = context.cast(builder, args[1], t[1], types.intp)
        columns = []
        for k in range(4):
            index = _entry(builder, builder.add(e, ir.Constant(e.type, k)))
            columns.append(builder.load(_pointer(context, builder, t[0], args[0], index), align=8))
        pointers = _record_pointers(context, builder, t[2], args[2], t[3], args[3], col)
        for pointer, row in zip(pointers, _transpose(builder, columns)):
            builder.store(row, pointer, align=8)
        return context.get_dummy_value()

    return types.void(w, e, flat, at, column), codegen


# Inside kernels the plain forms above are replaced by the intrinsics: calling them directly compiles far faster than
# through `overload`.
if not numba.config.DISABLE_JIT and not TYPE_CHECKING:
    get, put, load_columns, store_columns = _get, _put, _load_columns, _store_columns
    lanes_sqrt, lanes_copysign, lanes_sum, spread, prefetch = _sqrt, _copysign, _sum, _spread, _prefetch
