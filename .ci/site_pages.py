"""Hooks of the documentation site: the README as its home page, and links to files of the repository.

The pages are read on the site and in the repository. A link out of `docs/` becomes a link to the repository; that its
target exists is checked here, and a warning ends a strict build.
"""

import logging
import re
from pathlib import Path
from typing import Any

from properdocs.structure.files import File, Files

ROOT = Path(__file__).parent.parent
LINK = re.compile(r"\]\((?!\w+:|#)([^)#\s]+)(#[^)\s]*)?\)")
# A list or table right after a paragraph is one on GitHub; Python-Markdown wants an empty line before it.
TIGHT = re.compile(r"(?m)^(?!\s*(?:[-*|#>]|\d+\. )|```)(\S.*)\n(?=(?:[-*] |\d+\. |\|))")
DIAGRAM = re.compile(r"(?ms)^```mermaid\n.*?^```")  # GitHub draws these; here a script of another site would have to
log = logging.getLogger("properdocs.hooks.site_pages")


def on_files(files: Files, config: Any) -> Files:
    """Add the README as the home page, if no page of that name is there."""
    files.append(File.generated(config, "index.md", content=(ROOT / "README.md").read_text("utf-8")))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:  # noqa: ARG001 - passed by name
    """Resolve the links of a page, relative to where its source lies."""
    home = page.file.src_uri == "index.md"
    folder = ROOT if home else ROOT / "docs"

    def resolved(found: re.Match[str]) -> str:
        target, anchor = (folder / found[1]).resolve(), found[2] or ""
        if not target.exists():
            log.warning("%s: links to %s, which does not exist", page.file.src_uri, found[1])
        if target == ROOT / "README.md":
            return f"](index.md{anchor})"
        if target.is_relative_to(ROOT / "docs"):
            return f"]({target.relative_to(ROOT / 'docs').as_posix()}{anchor})"
        kind = "tree" if target.is_dir() else "blob"
        return f"]({config.extra['repository']}/{kind}/main/{target.relative_to(ROOT).as_posix()}{anchor})"

    repository = f"{config.extra['repository']}/blob/main/docs/{page.file.src_uri}"
    markdown = DIAGRAM.sub(f"[The diagram, drawn by GitHub]({repository})", markdown)
    parts = re.split(r"(?ms)(^ *```.*?^ *```)", markdown)
    parts[::2] = [TIGHT.sub(r"\1\n\n", LINK.sub(resolved, part)) for part in parts[::2]]
    return "".join(parts)
