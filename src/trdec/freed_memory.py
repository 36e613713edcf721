"""What becomes of memory that is no longer needed."""

from __future__ import annotations

import ctypes
import sys

_TRIM_THRESHOLD, _MMAP_MAX = -1, -4  # of glibc's malloc.h
_NEVER = -1


def keep_freed_memory() -> bool:
    """Let this process keep the memory it frees, for its next tensors; whether its allocator could be told so.

    Linux's usual allocator gives the memory of a large tensor back to the system and asks for it again in the next
    update, page by page, each filled with zeros: up to a fifth of the time of training, most with large batches. The
    price is that a process does not shrink before it ends. It is for programs, like `trdec` itself, not for a library
    to decide.
    """
    if sys.platform != "linux":
        return False
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)  # other C libraries than glibc may not have it
    return mallopt is not None and bool(mallopt(_TRIM_THRESHOLD, _NEVER) and mallopt(_MMAP_MAX, 0))
