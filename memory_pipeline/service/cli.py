"""The entry point `memory-pipeline`: every error becomes one line and an exit status, never a traceback.

Not here: the commands (`commands`). They are imported late, so that Ctrl-C works from the first moment.
"""

import logging
import os
import sys
from typing import Final

from memory_pipeline.service.process import collect_seldom, print_version

REFUSED: Final = 1
INTERRUPTED: Final = 130
"""Exit status after Ctrl-C, as in shells."""


def main() -> None:
    """Run the command line and exit with its status; see `docs/json.md`."""
    collect_seldom()
    # A connection closed by Ctrl-C would log a traceback.
    logging.getLogger("sqlalchemy.pool").addHandler(logging.NullHandler())
    try:
        status = _status()
        sys.stdout.flush()
    except KeyboardInterrupt:
        status = INTERRUPTED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # else Python complains when it flushes
        status = REFUSED
    if status == INTERRUPTED:
        _print_error("interrupted")
    raise SystemExit(status)


def _status() -> int:
    if sys.argv[1:] == ["--version"]:
        print_version()
        return 0

    import typer

    from memory_pipeline.service import commands, shell

    try:
        return int(commands.app(prog_name="memory-pipeline", standalone_mode=False) or 0)
    except typer.TyperException as error:
        _print_error(shell.misuse(error))
        return error.exit_code
    except BrokenPipeError:
        raise
    except OSError as error:
        _print_error(f"{error.filename or 'system'}: {error.strerror or error}; check that it exists and is writable")
    except (ValueError, RuntimeError) as error:
        _print_error(str(error))
    except Exception as error:
        if sys.flags.dev_mode:
            raise
        _print_error(f"{type(error).__name__}: {error}: a bug in memory-pipeline; PYTHONDEVMODE=1 shows where")
    return REFUSED


def _print_error(message: str) -> None:
    from memory_pipeline.text.display import one_line

    sys.stderr.write(f"error: {one_line(message)}\n")
