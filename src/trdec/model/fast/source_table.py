"""Vectors at the places of source sentences, and what rows that each read one sentence compute with them, in torch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import groupby
from operator import itemgetter

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

CACHED = 2**16
"""How many numbers a group of several sentences may take: a quarter of a megabyte."""

ENOUGH = 4
"""How many sentences must fit into such a group to make it worthwhile."""

COMPARED_AT_ONCE = 2**18
"""How many numbers the rows of one sentence compare at once: a megabyte, so that they stay in the processor's cache."""


class Readers:
    """The rows of a step, each of which reads one sentence; rows that read the same sentence are adjacent."""

    def __init__(self, numbers: Tensor, sentences: list[int] | None = None) -> None:
        self.numbers = numbers.contiguous()  # n
        self.count = numbers.shape[0]  # a tensor's `len` takes ten times as long
        self.address = self.numbers.data_ptr()
        if sentences is not None:
            self.sentences = sentences

    @cached_property
    def sentences(self) -> list[int]:
        """The numbers as a list."""
        return [int(number) for number in self.numbers.tolist()]

    @cached_property
    def runs(self) -> list[tuple[int, slice]]:
        """Each sentence with the rows that read it."""
        runs = []
        for sentence, numbered in groupby(enumerate(self.sentences), key=itemgetter(1)):
            rows = [row for row, _ in numbered]
            runs.append((sentence, slice(rows[0], rows[-1] + 1)))
        return runs

    @property
    def share(self) -> bool:
        """Whether some sentence is read by several rows."""
        return len(self.runs) < len(self.sentences)


class SourceTable:
    """Vectors sum(S) X at the places of sentences of these lengths.

    Rows are computed in groups that stay in the processor's cache: where sentences are small, a group is several
    sentences, padded; otherwise it is the rows of one.
    """

    def __init__(self, packed: Tensor, lengths: list[int]) -> None:
        self.lengths = lengths
        self.width = max(lengths)
        self.sentences = packed.split_with_sizes(lengths)  # S X each
        at_once = CACHED // max(1, self.width * packed.shape[1])
        self._at_once = at_once if at_once >= ENOUGH else 1
        self._one = packed.new_ones(())
        self._scratch = packed.new_empty(0)
        self._rooms: dict[tuple[int, int], tuple[Tensor, Tensor]] = {}

    @cached_property
    def _padded(self) -> Tensor | None:
        """B S X, where groups have several sentences."""
        if self._at_once == 1:
            return None
        # Not with 0: times the exponential of a query that overflows, it would not be a number.
        return pad_sequence(list(self.sentences), batch_first=True, padding_value=1.0)

    @cached_property
    def _singles(self) -> list[Tensor]:
        return [sentence.unsqueeze(0) for sentence in self.sentences]  # 1 S X each

    @cached_property
    def _transposed(self) -> list[Tensor]:
        return [sentence.t() for sentence in self.sentences]  # X S each

    @cached_property
    def _bias(self) -> Tensor:
        """B S: -inf at padding, 0 elsewhere."""
        some = self.sentences[0]
        lengths = torch.tensor(self.lengths, device=some.device).unsqueeze(1)  # B 1
        is_padding = torch.arange(self.width, device=some.device) >= lengths  # B S
        return some.new_zeros(is_padding.shape).masked_fill_(is_padding, -torch.inf)

    def zeros_like(self) -> SourceTable:
        """Zeros at the same places."""
        some = self.sentences[0]
        return SourceTable(some.new_zeros(sum(self.lengths), some.shape[1]), self.lengths)

    def packed(self) -> Tensor:
        """sum(S) X: the vectors, sentence after sentence."""
        if self._padded is None:
            return torch.cat(list(self.sentences))
        return torch.cat([row[:length] for row, length in zip(self._padded.unbind(0), self.lengths, strict=True)])

    def add_sums(self, readers: Readers, weights: Tensor, out: Tensor) -> None:
        """Add to out n X the sum of each row's sentence with its weights n S."""
        if readers.share:
            for sentence, rows in readers.runs:
                out[rows].addmm_(weights[rows, : self.lengths[sentence]], self.sentences[sentence])
        elif self._padded is None:
            parts = self._row_parts(weights, readers.sentences, [])  # S each
            for sentence, row, weight in zip(readers.sentences, out.unbind(0), parts, strict=True):
                row.addmv_(self._transposed[sentence], weight)
        else:
            sizes, vectors = self._groups(readers.sentences)
            parts = self._row_parts(weights, readers.sentences, sizes)  # g*S each
            for group, some, part in zip(vectors, out.unsqueeze(1).split_with_sizes(sizes), parts, strict=True):
                some.baddbmm_(part.view(len(some), 1, -1), group)

    def add_dots(self, readers: Readers, rows: Tensor, out: Tensor) -> None:
        """Add to out n S the products of each row n X with the vectors of its sentence; each row has its own."""
        if self._padded is None:
            parts = self._row_parts(out, readers.sentences, [])  # S each
            for sentence, row, part in zip(readers.sentences, rows.unbind(0), parts, strict=True):
                part.addmv_(self.sentences[sentence], row)
            return
        sizes, vectors = self._groups(readers.sentences)
        parts = self._row_parts(out, readers.sentences, sizes)  # g*S each
        for group, some, part in zip(vectors, rows.unsqueeze(2).split_with_sizes(sizes), parts, strict=True):
            part.view(len(some), -1, 1).baddbmm_(group, some)

    def dot_weights(self, readers: Readers, queries: Tensor, out: Tensor) -> None:
        """Fill out n S with the softmax of q k over the keys of each row's sentence; it is 0 at padding."""
        if not readers.share:
            scores = self._bias.index_select(0, readers.numbers)  # n S
            self.add_dots(readers, queries, scores)
            torch.softmax(scores, dim=1, out=out)
            return
        out.zero_()
        for sentence, rows in readers.runs:
            out[rows, : self.lengths[sentence]] = (queries[rows] @ self._transposed[sentence]).softmax(dim=1)

    def dot_backward(
        self, readers: Readers, queries: Tensor, d_scores: Tensor, d_queries: Tensor, d_keys: SourceTable
    ) -> None:
        """Fill d_queries n H and add to d_keys, given the scores' gradients n S; each row has its own sentence."""
        for sentences, keys, d_key, query, d_score, d_query in self._backward_groups(
            readers, queries, d_scores, d_queries, d_keys
        ):
            torch.bmm(d_score, keys, out=d_query)
            d_keys._add_product(sentences, d_key, d_score.transpose(1, 2), query)

    def additive_weights(self, readers: Readers, queries: Tensor, weight: Tensor, apart: bool, out: Tensor) -> None:
        """Fill out n S with the softmax of sum over h of w r with r = 1 / (1 + e^(q + k)); it is 0 at padding.

        Keys and queries n H are given as they are, or as their exponentials, `apart`.
        """
        if not readers.share:
            scores = self._bias.index_select(0, readers.numbers)  # n S
            sizes, vectors = self._groups(readers.sentences)
            parts = self._row_parts(scores, readers.sentences, sizes)  # g*S each
            for group, query, part in zip(vectors, queries.unsqueeze(1).split_with_sizes(sizes), parts, strict=True):
                part.addmv_(self._reciprocals(group, query, apart)[1], weight)
            torch.softmax(scores, dim=1, out=out)
            return
        out.zero_()
        for sentence, run in readers.runs:
            keys, places = self._singles[sentence], self.lengths[sentence]  # 1 S H
            at_once = max(1, COMPARED_AT_ONCE // keys.numel())
            for first in range(run.start, run.stop, at_once):
                rows = slice(first, min(first + at_once, run.stop))
                scores = torch.mv(self._reciprocals(keys, queries[rows].unsqueeze(1), apart)[1], weight)  # k*S
                out[rows, :places] = scores.view(-1, places).softmax(dim=1)

    def additive_backward(
        self,
        readers: Readers,
        queries: Tensor,  # n H
        apart: bool,
        d_scores: Tensor,  # n S
        d_queries: Tensor,  # n H
        d_keys: SourceTable,
        d_weight: Tensor,  # H
    ) -> None:
        """Fill d_queries with the sums of d_score (r - r^2), add the same to d_keys, and d_score r to d_weight.

        Each row has its own sentence. Up to the factor -w, the first two are the gradients of queries and keys.
        """
        for sentences, keys, d_key, query, d_score, d_query in self._backward_groups(
            readers, queries, d_scores, d_queries, d_keys
        ):
            compared, flat = self._reciprocals(keys, query, apart)  # g S H, g*S H
            d_weight.addmv_(flat.t(), d_score.view(-1))
            compared.addcmul_(compared, compared, value=-1)
            torch.bmm(d_score, compared, out=d_query)
            d_keys._add_product(sentences, d_key, compared, d_score.transpose(1, 2))

    def _backward_groups(
        self, readers: Readers, queries: Tensor, d_scores: Tensor, d_queries: Tensor, d_keys: SourceTable
    ) -> Iterator[tuple[list[int], Tensor, Tensor, Tensor, Tensor, Tensor]]:
        """For each group of g rows: their sentences; their keys, and the keys' gradients; their rows of the others.

        These are g S H twice, then the queries g 1 H, the scores' gradients g 1 S, and the queries' gradients g 1 H.
        """
        sizes, vectors = self._groups(readers.sentences)
        _, d_vectors = d_keys._groups(readers.sentences)
        first = 0
        for size, keys, d_key, query, d_score, d_query in zip(
            sizes,
            vectors,
            d_vectors,
            queries.unsqueeze(1).split_with_sizes(sizes),
            self._row_parts(d_scores, readers.sentences, sizes),
            d_queries.unsqueeze(1).split_with_sizes(sizes),
            strict=True,
        ):
            yield readers.sentences[first : first + size], keys, d_key, query, d_score.view(size, 1, -1), d_query
            first += size

    def _reciprocals(self, vectors: Tensor, queries: Tensor, apart: bool) -> tuple[Tensor, Tensor]:
        """r, as g S H and as g*S H, until the next call."""
        out, flat = self._room(queries.shape[0], vectors.shape[1])
        if apart:
            torch.addcmul(self._one, vectors, queries, out=out)
        else:
            torch.add(vectors, queries, out=out).exp_().add_(1)
        out.reciprocal_()
        return out, flat

    def _room(self, rows: int, places: int) -> tuple[Tensor, Tensor]:
        """Reused memory, as g S X and as g*S X; the views are kept, since making them costs a tenth of a row."""
        if (rows, places) not in self._rooms:
            shape = (rows, places, self.sentences[0].shape[1])
            size = rows * places * shape[2]
            if len(self._scratch) < size:
                self._scratch = self._one.new_empty(size)
                self._rooms.clear()
            room = self._scratch[:size].view(shape)
            self._rooms[rows, places] = room, room.flatten(0, 1)
        return self._rooms[rows, places]

    def _groups(self, sentences: list[int]) -> tuple[list[int], list[Tensor]]:
        """For rows that each read one sentence: the number of rows in each group, and the vectors g S X it reads."""
        if self._padded is None:
            return [1] * len(sentences), [self._singles[sentence] for sentence in sentences]
        chunks = [sentences[first : first + self._at_once] for first in range(0, len(sentences), self._at_once)]
        return [len(chunk) for chunk in chunks], [self._pick(chunk) for chunk in chunks]

    def _pick(self, sentences: list[int]) -> Tensor:
        """g S X: a view where the sentences are adjacent, otherwise a copy."""
        assert self._padded is not None
        first = sentences[0]
        if _adjacent(sentences):
            return self._padded[first : first + len(sentences)]
        return self._padded.index_select(0, torch.tensor(sentences, device=self._padded.device))

    def _add_product(self, sentences: list[int], vectors: Tensor, left: Tensor, right: Tensor) -> None:
        """Add left times right, g S X after broadcasting, to the vectors that a group of these sentences reads."""
        if self._padded is None or _adjacent(sentences):
            vectors.addcmul_(left, right)  # a view
        else:
            self._padded.index_add_(0, torch.tensor(sentences, device=vectors.device), left * right)

    def _row_parts(self, table: Tensor, sentences: list[int], sizes: list[int]) -> Sequence[Tensor]:
        """For each group of rows, its entries of a table n S, without padding, flattened: views, made in one call."""
        flat, width = table.view(-1), table.shape[1]
        if self._padded is not None:
            return flat.split_with_sizes([size * width for size in sizes])
        pieces = [size for sentence in sentences for size in (self.lengths[sentence], width - self.lengths[sentence])]
        return flat.split_with_sizes(pieces)[::2]


def _adjacent(sentences: list[int]) -> bool:
    first = sentences[0]
    return sentences == list(range(first, first + len(sentences)))
