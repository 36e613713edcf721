"""What this machine can do, measured in the same run as what is compared with it."""

from __future__ import annotations

import resource
import time

import torch


def matrix_product_rate(seconds: float = 1.0) -> float:
    """GFLOP/s of the float32 product of 2048 x 512 and 512 x 2048, per second of processor time: the median."""
    left, right = torch.randn(2048, 512), torch.randn(512, 2048)
    product = torch.empty(2048, 2048)
    torch.mm(left, right, out=product)
    times: list[float] = []
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        begin = time.process_time()
        torch.mm(left, right, out=product)
        times.append(time.process_time() - begin)
    return 2 * 2048 * 512 * 2048 / sorted(times)[len(times) // 2] / 1e9


def read_rate(seconds: float = 0.5) -> float:
    """GB/s at which 25 MB of float32 numbers are read, per second of processor time: the median.

    About as many as the weights that a step of a recurrence reads: more than a core's own cache holds.
    """
    matrices = [torch.ones(2048, 512) for _ in range(6)]
    times: list[float] = []
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        begin = time.process_time()
        for matrix in matrices:
            torch.sum(matrix)
        times.append(time.process_time() - begin)
    return sum(matrix.nbytes for matrix in matrices) / sorted(times)[len(times) // 2] / 1e9


def peak_memory() -> float:
    """GB that this process has held at most."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
