"""Check the links inside a built site: `python tests/docs/site_links.py build/docs`, which `make docs` does."""

from __future__ import annotations

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """The links of a page, and the names that links to it may have."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: set[str] = set()
        self.names: set[str] = set()
        self.feed(text)

    def handle_starttag(self, _tag: str, attributes: list[tuple[str, str | None]]) -> None:
        """Note what an element links to, and what it is called."""
        found = {key: value for key, value in attributes if value is not None}
        self.names |= {found[key] for key in ("id", "name") if key in found}
        self.links |= {found[key] for key in ("href", "src") if key in found}


def broken(site: Path) -> list[str]:
    """Every link that leads to no file, or to no place in it."""
    # Files to download, such as the server's own page, are no pages of the site.
    files = (path for path in sorted(site.rglob("*.html")) if "_downloads" not in path.parts)
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in files}
    found: list[str] = []
    for path, page in pages.items():
        for link in sorted(page.links):
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = path.parent / unquote(parts.path) if parts.path else path
            name = unquote(parts.fragment)
            known = pages.get(target.resolve())
            if not target.exists() or (name and known is not None and name not in known.names):
                found.append(f"{path.relative_to(site)}: {link}")
    return found


def main() -> None:
    """Print the broken links, if there are any, and end with 1."""
    site = Path(sys.argv[1]).resolve()
    if not (site / "index.html").is_file():
        sys.exit(f"{site}: expected a site with an index.html. Build it with: make docs")
    if found := broken(site):
        sys.exit("These links lead nowhere:\n" + "\n".join(found))


if __name__ == "__main__":
    main()
