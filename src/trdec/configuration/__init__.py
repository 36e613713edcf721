"""A whole experiment as one YAML file: which system, on which data, of what size, trained how.

A file holds what differs from the defaults; `key=value` on the command line changes it once more. Paths in `data` are
relative to `folder`; `folder` and `output` are relative to the current directory.
"""

from trdec.configuration.configuration import (
    CONFIGURATION_FILE,
    FREE_KEYS,
    Configuration,
    check_unchanged,
    load_configuration,
    load_saved_configuration,
)

__all__ = [
    "CONFIGURATION_FILE",
    "FREE_KEYS",
    "Configuration",
    "check_unchanged",
    "load_configuration",
    "load_saved_configuration",
]
