"""Logs as JSON, one object per line. Texts of users are never among the fields."""

from __future__ import annotations

import json
import logging
from datetime import UTC, datetime
from types import TracebackType

_KNOWN = set(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


class JsonFormatter(logging.Formatter):
    """A record as one line of JSON: time, level, message, what was given as `extra`, and where an error came from."""

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        content: dict[str, object] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "message": record.getMessage(),
        }
        content |= {name: value for name, value in vars(record).items() if name not in _KNOWN}
        if record.exc_info and record.exc_info[0] is not None:
            content["error"] = record.exc_info[0].__name__
            content["places"] = _places(record.exc_info[2])
        return json.dumps(content, ensure_ascii=False, default=str)


def _places(traceback: TracebackType | None) -> list[str]:
    """Where an error passed: not what it says, which may quote a text."""
    found = []
    while traceback is not None:
        code = traceback.tb_frame.f_code
        found.append(f"{code.co_filename}:{traceback.tb_lineno} {code.co_name}")
        traceback = traceback.tb_next
    return found
