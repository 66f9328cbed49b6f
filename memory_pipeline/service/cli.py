"""The entry point `memory-pipeline`: whatever goes wrong becomes one line and an exit status, never a traceback.

What the commands do stands in `commands.py`. It is loaded late, so that Ctrl-C is heard from the first moment on.
"""

import logging
import os
import sys
from typing import Final

REFUSED: Final = 1
INTERRUPTED: Final = 130
"""Exit status after Ctrl-C, as shells have it."""


def main() -> None:
    """Run the command line and end with its exit status: see `docs/json.md`."""
    # A connection that is closed by Ctrl-C would write a traceback.
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
        _complain("interrupted")
    raise SystemExit(status)


def _status() -> int:
    """Run a command and return its exit status."""
    import typer  # noqa: PLC0415

    from memory_pipeline.service import commands, options  # noqa: PLC0415

    try:
        return int(commands.app(standalone_mode=False) or 0)
    except typer.TyperException as error:
        _complain(options.misuse(error))
        return error.exit_code
    except BrokenPipeError:
        raise
    except OSError as error:
        _complain(f"{error.filename or 'system'}: {error.strerror or error}; check that it exists and may be written")
    except (ValueError, RuntimeError) as error:
        _complain(str(error))
    except Exception as error:
        if sys.flags.dev_mode:
            raise
        _complain(f"{type(error).__name__}: {error}: a fault of memory-pipeline; PYTHONDEVMODE=1 shows where")
    return REFUSED


def _complain(message: str) -> None:
    """Print one line that says what is wrong."""
    sys.stderr.write(f"error: {' '.join(message.split())}\n")
