"""The look of a page: one column on a phone, the contents at the side on a wide screen, light or dark."""

from __future__ import annotations

STYLE = """
:root {
  color-scheme: light dark;
  --paper: #fcfcfa; --ink: #1d2126; --quiet: #5b6570; --line: #d9dde1; --band: #f1f3f4;
  --accent: #00567f; --mark: #ffe3b3;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #14181c; --ink: #e7eaec; --quiet: #9aa5af; --line: #333b43; --band: #1c2227;
    --accent: #7cc4ef; --mark: #5a4312;
  }
}
* { box-sizing: border-box; }
html { scroll-behavior: smooth; scroll-padding-top: 1rem; }
body {
  margin: 0; background: var(--paper); color: var(--ink);
  font: 1.05rem/1.6 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif;
}
header { padding: 2.5rem 1.25rem 1rem; max-width: 78rem; margin: auto; }
h1 { font-size: clamp(1.6rem, 4vw, 2.5rem); line-height: 1.2; margin: 0; letter-spacing: -0.015em; text-wrap: balance; }
h2 { font-size: 1.4rem; line-height: 1.3; margin: 0 0 1rem; }
h3 { font-size: 1.05rem; margin: 2rem 0 0.5rem; }
.layout { max-width: 78rem; margin: auto; padding: 0 1.25rem 4rem; }
nav ol { list-style: none; margin: 0; padding: 0; display: flex; flex-wrap: wrap; gap: 0.25rem 1.25rem; }
nav a { color: var(--accent); text-decoration: none; }
nav a:hover, nav a:focus-visible { text-decoration: underline; }
main { min-width: 0; }
section { padding: 2rem 0; border-top: 1px solid var(--line); }
nav + main section:first-child { margin-top: 1.25rem; }
figure { margin: 0 0 1.5rem; max-width: 46rem; }
figure svg { display: block; width: 100%; height: auto; }
.scroll { overflow-x: auto; -webkit-overflow-scrolling: touch; margin: 0 0 0.75rem; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; min-width: min(100%, 34rem); }
th, td { padding: 0.4rem 0.7rem; text-align: right; white-space: nowrap; border-bottom: 1px solid var(--line); }
th { font-weight: 600; color: var(--quiet); border-bottom-width: 2px; white-space: normal; vertical-align: bottom; }
th:first-child, td:first-child { text-align: left; padding-left: 0.4rem; }
tbody tr:hover { background: var(--band); }
td strong { color: var(--accent); }
.note { color: var(--quiet); font-size: 0.92rem; margin: 0.35rem 0; max-width: 60rem; }
code { font: 0.88em ui-monospace, "SF Mono", Menlo, Consolas, monospace; overflow-wrap: anywhere; }
pre {
  font: 0.82rem/1.6 ui-monospace, "SF Mono", Menlo, Consolas, monospace; background: var(--band);
  padding: 0.8rem 1rem; border-radius: 0.4rem; white-space: pre-wrap; overflow-wrap: anywhere;
}
dl { margin: 0; }
dt { color: var(--quiet); font-size: 0.92rem; }
dd { margin: 0 0 0.6rem; overflow-wrap: anywhere; }
mark { background: var(--mark); color: inherit; border-radius: 0.2em; padding: 0 0.15em; }
@media (min-width: 64rem) {
  .layout { display: grid; grid-template-columns: 13rem minmax(0, 1fr); gap: 3rem; }
  nav { position: sticky; top: 2rem; align-self: start; padding-top: 2rem; }
  nav ol { flex-direction: column; gap: 0.5rem; }
  nav + main section:first-child { margin-top: 0; }
}
@media print { nav { display: none; } .layout { display: block; } section { break-inside: avoid; } }
""".strip()
