"""The kernels in C, for float32 on a processor, and which kernels serve a tensor.

`kernels.c` and `small_numbers.c` are compiled when trdec is installed, for each kind of processor; where that is not
possible, as without a compiler, the kernels in torch serve. The C functions run on one thread, however many torch
uses. They get addresses, so shapes and precision are checked here. What they read may lie in memory in any way; in
what they fill, the numbers of a row must be adjacent.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cached_property
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

import torch
from torch import Tensor

from trdec.model.fast.kernels import Kernels, RightMatrix
from trdec.model.fast.source_table import Readers, SourceTable

FEW = 256
"""Up to this many rows, the product in C is faster than torch's."""

_INTERFACE = 3
"""What `trdec_interface` of a library returns whose functions take the arguments given here."""

PANEL = 16
"""How many columns of a matrix `kernels.c` stores together."""

_LIBRARIES = {"AVX512": "_kernels_avx512", "AVX2": "_kernels_avx2", "any processor": "_kernels"}
"""The library for each capability of a processor, as torch names it; a better processor runs the later ones, too."""

_INSTRUCTIONS = {1: "VNNI", 2: "BF16"}
"""What `trdec_dot_products` says that a processor has: instructions for products in int8 and in bfloat16."""

_KINDS: dict[str, type[ctypes.c_int64 | ctypes.c_void_p | ctypes.c_int32]] = {
    "n": ctypes.c_int64,
    "a": ctypes.c_void_p,
    "f": ctypes.c_int32,
}
"""A number, an address, a flag."""


class Library:
    """The functions of `kernels.c`, compiled."""

    def __init__(self, path: Path) -> None:
        library = ctypes.CDLL(str(path))
        if library.trdec_interface() != _INTERFACE:
            raise OSError(f"{path} was compiled for another version of trdec")

        def function(name: str, arguments: str) -> ctypes._NamedFuncPointer:
            found: ctypes._NamedFuncPointer = getattr(library, f"trdec_{name}")
            found.argtypes, found.restype = [_KINDS[each] for each in arguments], None
            return found

        self.exponential = function("exponential", "naa")
        self.sigmoid = function("sigmoid", "naa")
        self.tanh = function("tanh", "naa")
        self.lstm_gates = function("lstm_gates", "nnanaaaa")
        self.lstm_gates_backward = function("lstm_gates_backward", "nnaaaaaa")
        self.pack = function("pack", "nnanna")
        self.product = function("product", "nnnanaanf")
        self.pack_bfloat16 = function("pack_bfloat16", "nnanna")
        self.product_bfloat16 = function("product_bfloat16", "nnnaaaanff")
        self.pack_int8 = function("pack_int8", "nnannaaa")
        self.product_int8 = function("product_int8", "nnnaaaaaanff")
        self.sums = function("sums", "nnaaaananf")
        self.dots = function("dots", "nnaaaananf")
        self.add_outer = function("add_outer", "nnaaaana")
        self.additive_scores = function("additive_scores", "nnaaafaaan")
        self.additive_backward = function("additive_backward", "nnaaafaanaaa")
        self.softmax = function("softmax", "nnaaa")
        self.softmax_backward = function("softmax_backward", "nnaaa")
        self.dot_products = int(library.trdec_dot_products())


def _read(tensor: Tensor, *shape: int) -> Tensor:
    """The tensor, contiguous."""
    if tensor.shape != shape or tensor.dtype != torch.float32:
        raise ValueError(f"expected {shape} of float32, found {tuple(tensor.shape)} of {tensor.dtype}")
    return tensor.contiguous()


def _fill(tensor: Tensor, *shape: int) -> int:
    """The address of a contiguous tensor."""
    if tensor.shape != shape or tensor.dtype != torch.float32 or not tensor.is_contiguous():
        raise ValueError(f"expected contiguous {shape} of float32, found {tuple(tensor.shape)} of {tensor.dtype}")
    return tensor.data_ptr()


def _fill_rows(tensor: Tensor, *shape: int) -> tuple[int, int]:
    """The address and the stride of rows whose numbers are adjacent."""
    row, number = tensor.stride()
    if tensor.shape != shape or tensor.dtype != torch.float32 or number != 1 != shape[1]:
        raise ValueError(f"expected rows {shape} of float32, found {tuple(tensor.shape)} of {tensor.dtype}")
    return tensor.data_ptr(), row


class CompiledMatrix(RightMatrix):
    """A matrix K X that is multiplied in C by few rows, and in torch by many."""

    def __init__(self, library: Library, matrix: Tensor) -> None:
        super().__init__(matrix)
        self._library = library
        self._height, self._width = matrix.shape

    @cached_property
    def _panels(self) -> Tensor:
        """The columns, PANEL at a time."""
        panels = self._given.new_empty(-(-self._width // PANEL), self._height, PANEL)
        row, column = self._given.stride()
        self._library.pack(self._height, self._width, self._given.data_ptr(), row, column, panels.data_ptr())
        return panels

    def times(self, rows: Tensor, out: Tensor | None = None) -> Tensor:
        count = rows.shape[0]
        if count > FEW:
            return super().times(rows, out)
        out = rows.new_empty(count, self._width) if out is None else out
        self._product(rows, out, add=False)
        return out

    def add_product(self, out: Tensor, rows: Tensor) -> None:
        if rows.shape[0] > FEW:
            super().add_product(out, rows)
        else:
            self._product(rows, out, add=True)

    def _product(self, rows: Tensor, out: Tensor, add: bool) -> None:
        n, height, width = rows.shape[0], self._height, self._width
        rows = _read(rows, n, height)
        address, stride = _fill_rows(out, n, width)
        self._library.product(n, height, width, rows.data_ptr(), height, self._panels.data_ptr(), address, stride, add)


class MatrixOfSmallNumbers(RightMatrix):
    """A matrix K X of numbers of fewer bits, several in a word, that any number of rows are multiplied by in C."""

    numbers_in_a_word: int

    def __init__(self, library: Library, instructions: int, matrix: Tensor) -> None:
        super().__init__(matrix)
        self._library, self._instructions = library, instructions
        self._height, self._width = matrix.shape
        self._words = -(-self._height // self.numbers_in_a_word)
        self._num_panels = -(-self._width // PANEL)

    def times(self, rows: Tensor, out: Tensor | None = None) -> Tensor:
        out = rows.new_empty(rows.shape[0], self._width) if out is None else out
        self._product(rows, out, add=False)
        return out

    def add_product(self, out: Tensor, rows: Tensor) -> None:
        self._product(rows, out, add=True)

    def transposed_times(self, rows: Tensor) -> Tensor:
        return self.times(rows.t()).t()

    def _product(self, rows: Tensor, out: Tensor, add: bool) -> None:
        n, height, width = rows.shape[0], self._height, self._width
        rows = _read(rows, n, height)
        address, stride = _fill_rows(out, n, width)
        scratch = torch.empty(n, 2 * self._words, dtype=torch.int32)
        self._multiply(n, height, width, rows.data_ptr(), scratch.data_ptr(), address, stride, add)

    def _multiply(
        self, n: int, height: int, width: int, rows: int, scratch: int, out: int, stride: int, add: bool
    ) -> None:
        raise NotImplementedError


class CompiledBfloat16Matrix(MatrixOfSmallNumbers):
    """A matrix K X in bfloat16 that is multiplied in C."""

    numbers_in_a_word = 2

    @cached_property
    def _panels(self) -> Tensor:
        panels = torch.empty(self._num_panels, self._words, PANEL, dtype=torch.int32)
        row, column = self._given.stride()
        self._library.pack_bfloat16(self._height, self._width, self._given.data_ptr(), row, column, panels.data_ptr())
        return panels

    def _multiply(
        self, n: int, height: int, width: int, rows: int, scratch: int, out: int, stride: int, add: bool
    ) -> None:
        self._library.product_bfloat16(
            n, height, width, rows, self._panels.data_ptr(), scratch, out, stride, add, self._instructions
        )


class CompiledInt8Matrix(MatrixOfSmallNumbers):
    """A matrix K X in int8 that is multiplied in C."""

    numbers_in_a_word = 4

    def __init__(self, library: Library, instructions: int, matrix: Tensor) -> None:
        super().__init__(library, instructions, matrix)
        self._panels = torch.zeros(self._num_panels, self._words, PANEL, dtype=torch.int32)
        self._scales = torch.zeros(self._num_panels, PANEL)
        self._starts = torch.zeros(self._num_panels, PANEL, dtype=torch.int32)
        self._parts = self._panels.data_ptr(), self._scales.data_ptr(), self._starts.data_ptr()
        library.pack_int8(*matrix.shape, matrix.data_ptr(), *matrix.stride(), *self._parts)

    def _multiply(
        self, n: int, height: int, width: int, rows: int, scratch: int, out: int, stride: int, add: bool
    ) -> None:
        self._library.product_int8(n, height, width, rows, *self._parts, scratch, out, stride, add, self._instructions)


class CompiledTable(SourceTable):
    """Vectors at source places, read by rows in C."""

    def __init__(self, library: Library, packed: Tensor, lengths: list[int]) -> None:
        super().__init__(packed, lengths)
        self._library = library
        self._vectors = packed.contiguous()  # sum(S) X
        self._size = packed.shape[1]
        self._offsets = torch.tensor([0, *lengths]).cumsum(0)  # B+1
        self._places = self._offsets.data_ptr()
        self._address = self._vectors.data_ptr()

    def zeros_like(self) -> CompiledTable:
        return CompiledTable(self._library, torch.zeros_like(self._vectors), self.lengths)

    def packed(self) -> Tensor:
        return self._vectors

    def _by(self, readers: Readers) -> tuple[int, ...]:
        """What every function takes first: how many rows and numbers, who reads what, and the vectors."""
        return readers.count, self._size, readers.address, self._places, self._address

    def add_sums(self, readers: Readers, weights: Tensor, out: Tensor) -> None:
        n = readers.count
        weights = _read(weights, n, self.width)
        address, stride = _fill_rows(out, n, self._size)
        self._library.sums(
            n,
            self._size,
            readers.address,
            self._places,
            self._address,
            weights.data_ptr(),
            self.width,
            address,
            stride,
            True,
        )

    def add_dots(self, readers: Readers, rows: Tensor, out: Tensor) -> None:
        self._dots(readers, rows, out, add=True)

    def _dots(self, readers: Readers, rows: Tensor, out: Tensor, add: bool) -> None:
        n = readers.count
        rows = _read(rows, n, self._size)
        address, stride = _fill_rows(out, n, self.width)
        self._library.dots(
            n,
            self._size,
            readers.address,
            self._places,
            self._address,
            rows.data_ptr(),
            self._size,
            address,
            stride,
            add,
        )

    def dot_weights(self, readers: Readers, queries: Tensor, out: Tensor) -> None:
        self._dots(readers, queries, out, add=False)
        self._library.softmax(readers.count, self.width, readers.address, self._places, _fill(out, *out.shape))

    def dot_backward(
        self, readers: Readers, queries: Tensor, d_scores: Tensor, d_queries: Tensor, d_keys: SourceTable
    ) -> None:
        assert isinstance(d_keys, CompiledTable)
        n = readers.count
        d_scores, queries = _read(d_scores, n, self.width), _read(queries, n, self._size)
        address = _fill(d_queries, n, self._size)
        self._library.sums(*self._by(readers), d_scores.data_ptr(), self.width, address, self._size, False)
        self._library.add_outer(*d_keys._by(readers), d_scores.data_ptr(), self.width, queries.data_ptr())

    def additive_weights(self, readers: Readers, queries: Tensor, weight: Tensor, apart: bool, out: Tensor) -> None:
        n = readers.count
        queries, weight = _read(queries, n, self._size), _read(weight, self._size)
        address = _fill(out, n, self.width)
        self._library.additive_scores(
            *self._by(readers), apart, queries.data_ptr(), weight.data_ptr(), address, self.width
        )
        self._library.softmax(n, self.width, readers.address, self._places, address)

    def additive_backward(
        self,
        readers: Readers,
        queries: Tensor,
        apart: bool,
        d_scores: Tensor,
        d_queries: Tensor,
        d_keys: SourceTable,
        d_weight: Tensor,
    ) -> None:
        assert isinstance(d_keys, CompiledTable)
        n = readers.count
        queries, d_scores = _read(queries, n, self._size), _read(d_scores, n, self.width)
        self._library.additive_backward(
            *self._by(readers),
            apart,
            queries.data_ptr(),
            d_scores.data_ptr(),
            self.width,
            _fill(d_queries, n, self._size),
            d_keys._address,
            _fill(d_weight, self._size),
        )


class CompiledKernels(Kernels):
    """The kernels in C."""

    def __init__(self, capability: str, library: Library, instructions: int) -> None:
        extra = " and ".join(name for bit, name in _INSTRUCTIONS.items() if instructions & bit)
        self.name = f"C, for {capability}" + (f" with {extra}" if extra else "")
        self.library, self._instructions = library, instructions

    def matrix(self, matrix: Tensor) -> CompiledMatrix:
        return CompiledMatrix(self.library, matrix)

    def bfloat16_matrix(self, matrix: Tensor) -> CompiledBfloat16Matrix:
        return CompiledBfloat16Matrix(self.library, self._instructions, matrix)

    def int8_matrix(self, matrix: Tensor) -> CompiledInt8Matrix:
        return CompiledInt8Matrix(self.library, self._instructions, matrix)

    def table(self, packed: Tensor, lengths: list[int]) -> CompiledTable:
        return CompiledTable(self.library, packed, lengths)

    def lstm_gates(self, gates: Tensor, previous_cell: Tensor, cell: Tensor, tanh_cell: Tensor, hidden: Tensor) -> None:
        n, size = hidden.shape
        previous_cell = _read(previous_cell, n, size)
        address, stride = _fill_rows(gates, n, 4 * size)
        self.library.lstm_gates(
            n,
            size,
            address,
            stride,
            previous_cell.data_ptr(),
            _fill(cell, n, size),
            _fill(tanh_cell, n, size),
            _fill(hidden, n, size),
        )

    def lstm_gates_backward(
        self, gates: Tensor, previous_cell: Tensor, tanh_cell: Tensor, d_hidden: Tensor, d_cell: Tensor, d_gates: Tensor
    ) -> None:
        n, size = tanh_cell.shape
        gates, previous_cell = _read(gates, n, 4 * size), _read(previous_cell, n, size)
        tanh_cell, d_hidden = _read(tanh_cell, n, size), _read(d_hidden, n, size)
        self.library.lstm_gates_backward(
            n,
            size,
            gates.data_ptr(),
            previous_cell.data_ptr(),
            tanh_cell.data_ptr(),
            d_hidden.data_ptr(),
            _fill(d_cell, n, size),
            _fill(d_gates, n, 4 * size),
        )

    def softmax_backward(self, weights: Tensor, d_weights: Tensor) -> Tensor:
        n, width = weights.shape
        weights, d_weights = _read(weights, n, width), _read(d_weights, n, width)
        d_scores = torch.empty_like(weights)
        self.library.softmax_backward(n, width, weights.data_ptr(), d_weights.data_ptr(), d_scores.data_ptr())
        return d_scores


def compiled_kernels() -> Iterator[CompiledKernels]:
    """The kernels that are compiled and that this processor can run, the fastest first."""
    capabilities, here = list(_LIBRARIES), torch.backends.cpu.get_cpu_capability()
    for capability in capabilities[capabilities.index(here) if here in capabilities else -1 :]:
        path = Path(__file__).with_name(_LIBRARIES[capability] + EXTENSION_SUFFIXES[0])
        # There may be none, or one for another processor or version of trdec; then torch serves.
        with suppress(OSError, AttributeError):
            library = Library(path)
            if library.dot_products:
                yield CompiledKernels(capability, library, library.dot_products)
            yield CompiledKernels(capability, library, 0)


_TORCH = Kernels()
_chosen: Kernels = next(compiled_kernels(), _TORCH)


def kernels_for(tensor: Tensor) -> Kernels:
    """The kernels that serve tensors of this precision and device."""
    return _chosen if tensor.dtype == torch.float32 and tensor.device.type == "cpu" else _TORCH


@contextmanager
def using(kernels: Kernels) -> Iterator[None]:
    """While it is open, these kernels serve float32 on a processor: for tests that compare kernels."""
    global _chosen
    before, _chosen = _chosen, kernels
    try:
        yield
    finally:
        _chosen = before
