"""How `make docs` makes a site of these pages. They are plain Markdown, and read as well without it.

What the site has beyond the pages is added here as they are read: the lists of pages, and the reference of the names in
the tables of python_api.md.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx

DOCUMENTS = Path(__file__).parent
REPOSITORY = DOCUMENTS.parent
sys.path.insert(0, str(REPOSITORY / "src"))

from trdec import __version__  # noqa: E402  (it is found only now)

project = "trdec"
author = "The trdec developers"
version = release = __version__

extensions = ["myst_parser", "sphinx.ext.autodoc"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["images"]
myst_heading_anchors = 4
suppress_warnings = ["ref.python"]  # a name that `import trdec` gives is that of its module, too
default_role = "code"  # our docstrings have names in single backticks
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
html_theme = "furo"
html_title = f"trdec {__version__}"
html_show_copyright = False
html_copy_source = False

PAGES = """
```{toctree}
:hidden:
:caption: To use it

tutorial
mistakes
raw_text
choosing_trees
own_trees
trees
annotating
evaluation
experiments
transformers
configuration
formats
python_api
```

```{toctree}
:hidden:
:caption: To know it

results
results_recipe
results_speed
REPORTS
toy_language
architecture
paper_map
decisions/README
```
"""

DECISIONS = """
```{toctree}
:hidden:
:glob:

0*
```
"""

_ROW = re.compile(r"^\| `(trdec[\w.]*)` \| (.*) \|$")


def add_to_page(_application: Sphinx, page: str, source: list[str]) -> None:
    """Add to a page what only the site has."""
    if page == "index":
        # A page that nobody put in its place yet is listed last, so that it can be found.
        further = sorted({path.stem for path in DOCUMENTS.glob("*.md")} - {"index", *PAGES.split()})
        reports = sorted(f"results/{path.parent.name}/report" for path in DOCUMENTS.glob("results/*/report.md"))
        listed = PAGES.replace("REPORTS", "\n".join(reports))
        source[0] += listed.replace("decisions/README", "\n".join(["decisions/README", *further]))
    elif page == "decisions/README":
        source[0] += DECISIONS
    elif page == "python_api":
        source[0] += "\n".join(["", "## Reference", "", *reference(source[0])])


def reference(page: str) -> Iterator[str]:
    """A section for each module in the page's tables, with what autodoc knows of the names beside it."""
    for line in page.splitlines():
        if row := _ROW.match(line):
            yield from (f"### {row[1]}", "", "```{eval-rst}", f".. automodule:: {row[1]}", "")
            for name in re.findall(r"`(\w+)`", row[2]):
                its_kind = kind(row[1], name)
                yield f".. auto{its_kind}:: {row[1]}.{name}"
                yield from ("   :members:", "") if its_kind == "class" else ("",)
            yield from ("```", "")


def kind(module: str, name: str) -> str:
    """What autodoc calls it: a class, an exception, a function, or data."""
    found = getattr(__import__(module, fromlist=[name]), name)
    if isinstance(found, type):
        return "exception" if issubclass(found, Exception) else "class"
    return "function" if hasattr(found, "__code__") or hasattr(found, "__wrapped__") else "data"


def leave_docs(application: Sphinx, document: nodes.document) -> None:
    """Make links that leave this folder work: a file is given along, a folder is only named."""
    page = Path(application.env.doc2path(application.env.docname))
    for link in list(document.findall(addnodes.pending_xref)):
        if link.get("reftype") != "myst":
            continue
        target = str(link["reftarget"])
        path = Path(f"{target}.md") if link.get("refdomain") == "doc" else page.parent / target
        path = (DOCUMENTS / path).resolve()
        if path.is_relative_to(DOCUMENTS) or not path.is_relative_to(REPOSITORY) or not path.exists():
            continue
        content = link[0].deepcopy()
        if path.is_file():
            relative = f"/{Path('..') / path.relative_to(REPOSITORY)}"
            content = addnodes.download_reference("", "", content, reftarget=relative, refdoc=application.env.docname)
        link.replace_self(content)


def leave_out_docstring_of_dict(
    _application: Sphinx, _what: str, _name: str, thing: object, _options: Any, lines: list[str]
) -> None:
    """A table that is imported under a second name has no docstring there but that of `dict`."""
    if isinstance(thing, dict) and lines and lines[0].startswith("dict("):
        lines.clear()


def keep_backslashes(
    _application: Sphinx, _what: str, _name: str, _found: Any, _options: Any, lines: list[str]
) -> None:
    """Make a docstring's backslashes mean themselves."""
    lines[:] = [line.replace("\\", "\\\\") for line in lines]


def setup(application: Sphinx) -> dict[str, Any]:
    """Tell Sphinx of the functions above."""
    application.connect("autodoc-process-docstring", leave_out_docstring_of_dict)
    application.connect("autodoc-process-docstring", keep_backslashes)
    application.connect("source-read", add_to_page)
    application.connect("doctree-read", leave_docs, priority=1)  # before downloads are collected
    return {"parallel_read_safe": True}
