"""Tells how to install what an extra of the package needs, be the package released or not."""

import re
import shlex
from importlib.metadata import requires


def pip_install(extra: str) -> str:
    """Return the command that installs the packages of an extra.

    Examples:
        >>> print(pip_install("mcp"))
        pip install 'mcp<3,>=2.1'
    """
    of_extra = re.compile(rf"(.+?)\s*;\s*extra\s*==\s*['\"]{re.escape(extra)}['\"]")
    found = filter(None, map(of_extra.fullmatch, requires("memory-pipeline") or ()))
    return shlex.join(["pip", "install", *(match[1] for match in found)])
