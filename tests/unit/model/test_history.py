"""Addresses into a history never change their meaning."""

from __future__ import annotations

import torch

from trdec.model.history import History


def test_an_address_keeps_its_vector_however_much_is_appended() -> None:
    torch.manual_seed(1)
    for grad in (False, True):
        with torch.set_grad_enabled(grad):
            history, expected = History(torch.empty(1, 3)), [torch.zeros(1, 3)]
            for count in (2, 300, 1, 400):
                vectors = torch.randn(count, 3)
                assert history.append(vectors).tolist() == list(
                    range(sum(map(len, expected)), sum(map(len, expected)) + count)
                )
                expected.append(vectors)
            everything = torch.cat(expected)
            assert torch.equal(history.at(torch.arange(len(everything))), everything)
