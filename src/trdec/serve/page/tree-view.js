// <derivation-tree>: a derivation drawn as a tree that grows with its `step`.
//
// Events: "inspect" with detail.number, the node under the pointer or in focus (null when there is none), and "walk" with
// detail.by, how many steps the reader wants to go.

import { coveredText, drawnChildren, drawnParent, lengthOf } from "./derivation.js";
import { make, makeSvg, button } from "./dom.js";
import { FONTS, caretAt, figureAt } from "./figure.js";
import { layOut } from "./layout.js";
import { percent } from "./reading.js";

const SMALLEST = 0.15; // unless a tree is in sight only below this
const LARGEST = 3;
const READABLE = 0.62; // a long sentence starts no smaller than this, and is panned

const canvas = document.createElement("canvas").getContext("2d");

/** The width of a text as it is drawn. */
export function measureText(text, kind) {
  canvas.font = FONTS[kind];
  return canvas.measureText(text).width;
}

class DerivationTree extends HTMLElement {
  #derivation = null;
  #layout = null;
  #step = 0;
  #scale = 1;
  #current = null; // the number of the node that Tab goes to
  #groups = new Map();
  #marked = new Set();

  /** Draw a derivation, complete; `marked` nodes stand out. */
  show(derivation, { direction, label, marked = new Set() }) {
    this.#derivation = derivation;
    this.#layout = layOut(derivation, measureText, direction);
    this.#marked = marked;
    this.#current = derivation.root ?? derivation.words[0] ?? null;
    this.#build(label);
    this.step = lengthOf(derivation);
  }

  get layout() {
    return this.#layout;
  }

  get step() {
    return this.#step;
  }

  set step(step) {
    this.#step = step;
    this.#update();
  }

  /** The scale, at most 1, at which the whole width of the tree is in sight. */
  get #whole() {
    return Math.min(1, Math.max(1, this.scroller.clientWidth - 4) / this.#layout.width);
  }

  /** Show the whole tree, or as much as stays readable. */
  fit(smallest = READABLE) {
    if (this.scroller.clientWidth === 0) return;
    this.#zoom(Math.max(smallest, this.#whole));
    if (this.#layout.direction === "rtl") this.scroller.scrollLeft = this.scroller.scrollWidth;
  }

  /** Scroll so that a node is in sight. */
  reveal(number) {
    const place = this.#layout.places.get(number);
    if (place === undefined) return;
    const { scroller } = this;
    const [x, y] = [place.x * this.#scale, place.y * this.#scale];
    const edge = 60;
    if (x < scroller.scrollLeft + edge || x > scroller.scrollLeft + scroller.clientWidth - edge) {
      scroller.scrollLeft = x - scroller.clientWidth / 2;
    }
    if (y < scroller.scrollTop + edge || y > scroller.scrollTop + scroller.clientHeight - edge) {
      scroller.scrollTop = y - scroller.clientHeight / 2;
    }
  }

  #build(label) {
    const { width, height } = this.#layout;
    this.edges = makeSvg("g", { class: "edges", "aria-hidden": "true" });
    this.nodes = makeSvg("g", { class: "nodes", role: "none" });
    this.caret = makeSvg("line", { class: "caret", "aria-hidden": "true" });
    this.svg = makeSvg(
      "svg",
      { class: "tree", viewBox: `0 0 ${width} ${height}`, role: "tree", "aria-label": label },
      this.edges, this.nodes, this.caret,
    );
    this.scroller = make("div", { class: "scroller" }, this.svg);
    const tools = make(
      "div", { class: "zoom", role: "group", "aria-label": "Zoom" },
      make("span", { class: "legend", "aria-hidden": "true" }, ...["below 50 %", "below 90 %", "90 % and above"].map((name) => make("span", {}, name))),
      button("−", "Zoom out", () => this.#zoomBy(1 / 1.25)),
      button("+", "Zoom in", () => this.#zoomBy(1.25)),
      button("⤢", "Fit the tree", () => this.fit(0)),
    );
    this.replaceChildren(tools, this.scroller);
    this.#groups.clear();
    for (const item of figureAt(this.#derivation, this.#layout, lengthOf(this.#derivation))) this.#add(item);
    this.#listen();
    this.fit();
    if (this.scroller.clientWidth === 0) requestAnimationFrame(() => this.fit());
  }

  #add({ node, place }) {
    const line = place.edge === null ? null : makeSvg("path", { d: place.edge });
    if (line !== null) this.edges.append(line);
    const { x, y, width, height } = place;
    const box = makeSvg("rect", { class: "box", x: x - width / 2, y: y - height / 2, width, height, rx: 8 });
    const text = makeSvg("text", { x, y, direction: "inherit" });
    const length = Math.max(10, width - 14);
    const track = makeSvg("rect", { class: "track", x: x - length / 2, y: y + height / 2 - 4, width: length, height: 2.5, rx: 1.2 });
    const level = makeSvg("rect", { class: "level", x: x - length / 2, y: y + height / 2 - 4, width: length, height: 2.5, rx: 1.2 });
    const group = makeSvg("g", { class: node.kind, tabindex: "-1", role: "treeitem", "aria-level": place.level }, box, track, level, text);
    const siblings = this.#siblings(node);
    group.setAttribute("aria-setsize", siblings.length);
    group.setAttribute("aria-posinset", siblings.indexOf(node.number) + 1);
    if (this.#marked.has(node.number)) group.classList.add("different");
    group.dataset.number = node.number;
    this.nodes.append(group);
    this.#groups.set(node.number, { group, text, line, level, length });
  }

  #siblings(node) {
    const parent = drawnParent(this.#derivation, node);
    if (parent === null) return this.#derivation.root === null ? this.#derivation.words : [node.number];
    const drawn = drawnChildren(this.#derivation, parent).map((child) => child.number);
    return drawn.includes(node.number) ? drawn : [...drawn, node.number];
  }

  #update() {
    const derivation = this.#derivation;
    for (const item of figureAt(derivation, this.#layout, this.#step)) {
      const { node, status, text, probability } = item;
      const shape = this.#groups.get(node.number);
      const looks = `${status} ${probability} ${text}`;
      if (shape.looks === looks) continue; // a step changes few nodes
      shape.looks = looks;
      shape.group.dataset.status = status;
      shape.group.setAttribute("aria-hidden", String(status === "absent"));
      shape.text.textContent = text;
      shape.group.setAttribute("aria-label", this.#describe(item));
      shape.level.setAttribute("width", (probability ?? 0) * shape.length);
      shape.group.dataset.sure = probability === null ? "unknown" : probability < 0.5 ? "low" : probability < 0.9 ? "fair" : "high";
      if (shape.line !== null) shape.line.dataset.status = status;
    }
    const caret = caretAt(derivation, this.#layout, this.#step, measureText);
    this.caret.classList.toggle("shown", caret !== null);
    if (caret !== null) {
      const [top, bottom] = [caret.y - caret.height / 2, caret.y + caret.height / 2];
      for (const [key, value] of Object.entries({ x1: caret.x, x2: caret.x, y1: top, y2: bottom })) this.caret.setAttribute(key, value);
    }
    if (this.#current !== null && !this.#isVisible(this.#current)) this.#current = derivation.root ?? this.#firstVisible();
    this.#setTabStop();
  }

  #describe({ node, status, text, probability }) {
    if (status === "open" || status === "next") return `${node.label}, open${status === "next" ? ", next to be written" : ""}`;
    const sure = probability === null ? "" : `, probability ${percent(probability)}`;
    if (node.kind === "word") return `${text}, word ${node.first + 1} of ${this.#derivation.words.length}${sure}`;
    return `${node.label}${sure}, covers: ${coveredText(this.#derivation, node)}`;
  }

  #isVisible(number) {
    const shape = this.#groups.get(number);
    return shape !== undefined && shape.group.dataset.status !== "absent";
  }

  #firstVisible() {
    return this.#derivation.words.find((number) => this.#isVisible(number)) ?? null;
  }

  #setTabStop() {
    for (const stop of this.nodes.querySelectorAll("[tabindex='0']")) stop.setAttribute("tabindex", "-1");
    this.#groups.get(this.#current)?.group.setAttribute("tabindex", "0");
    this.svg.setAttribute("tabindex", this.#current === null ? "0" : "-1");
  }

  #focus(number) {
    if (number === null || number === undefined || !this.#isVisible(number)) return;
    this.#current = number;
    this.#setTabStop();
    this.reveal(number);
    this.#groups.get(number).group.focus({ preventScroll: true });
  }

  #inspect(number) {
    for (const [other, { group, line }] of this.#groups) {
      const on = number !== null && this.#isWithin(other, number);
      group.classList.toggle("lit", on);
      line?.classList.toggle("lit", on && other !== number);
    }
    this.dispatchEvent(new CustomEvent("inspect", { detail: { number } }));
  }

  #isWithin(number, ancestor) {
    for (let node = this.#derivation.nodes[number]; node !== null; node = drawnParent(this.#derivation, node)) {
      if (node.number === ancestor) return true;
    }
    return false;
  }

  #listen() {
    const numberOf = (event) => {
      const group = event.target.closest?.("[data-number]");
      return group === null || group === undefined ? null : Number(group.dataset.number);
    };
    this.svg.addEventListener("pointerover", (event) => {
      const number = numberOf(event);
      if (number !== null) this.#inspect(number);
    });
    this.svg.addEventListener("pointerleave", () => this.#inspect(this.contains(document.activeElement) ? this.#current : null));
    this.svg.addEventListener("focusin", (event) => {
      const number = numberOf(event);
      if (number === null) return;
      this.#current = number;
      this.#setTabStop();
      this.#inspect(number);
    });
    this.svg.addEventListener("focusout", () => this.#inspect(null));
    this.svg.addEventListener("keydown", (event) => this.#onKey(event));
    this.scroller.addEventListener("wheel", (event) => this.#onWheel(event), { passive: false });
    this.#dragToPan();
  }

  #onKey(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const moves = {
      ArrowUp: () => this.#focus(this.#parentOf(this.#current)),
      ArrowDown: () => this.#focus(this.#childOf(this.#current)),
      ArrowLeft: () => this.#focus(this.#beside(-1)),
      ArrowRight: () => this.#focus(this.#beside(1)),
      Home: () => this.#focus(this.#derivation.root ?? this.#derivation.words[0]),
      End: () => this.#focus(this.#derivation.words.findLast((number) => this.#isVisible(number))),
      ",": () => this.#walk(-1),
      ".": () => this.#walk(1),
      "+": () => this.#zoomBy(1.25),
      "=": () => this.#zoomBy(1.25),
      "-": () => this.#zoomBy(1 / 1.25),
      0: () => this.fit(0),
    };
    if (!(event.key in moves)) return;
    event.preventDefault();
    event.stopPropagation();
    moves[event.key]();
  }

  #walk(by) {
    this.dispatchEvent(new CustomEvent("walk", { detail: { by } }));
    this.#focus(this.#current);
  }

  #parentOf(number) {
    return drawnParent(this.#derivation, this.#derivation.nodes[number])?.number;
  }

  #childOf(number) {
    return drawnChildren(this.#derivation, this.#derivation.nodes[number]).find((child) => this.#isVisible(child.number))?.number;
  }

  /** The nearest node to the left (-1) or right (1) on the same line: words among words, symbols among those of their level. */
  #beside(sign) {
    const { x, y } = this.#layout.places.get(this.#current);
    let best = null;
    for (const [number, place] of this.#layout.places) {
      const distance = (place.x - x) * sign;
      if (place.y !== y || distance <= 0 || !this.#isVisible(number)) continue;
      if (best === null || distance < best.distance) best = { number, distance };
    }
    return best?.number;
  }

  #zoom(scale) {
    this.#scale = Math.min(LARGEST, Math.max(Math.min(SMALLEST, this.#whole), scale));
    this.svg.setAttribute("width", this.#layout.width * this.#scale);
    this.svg.setAttribute("height", this.#layout.height * this.#scale);
  }

  #zoomBy(factor, at = this.scroller.clientWidth / 2, atTop = this.scroller.clientHeight / 2) {
    const { scroller } = this;
    const before = this.#scale;
    this.#zoom(before * factor);
    const ratio = this.#scale / before;
    scroller.scrollLeft = (scroller.scrollLeft + at) * ratio - at;
    scroller.scrollTop = (scroller.scrollTop + atTop) * ratio - atTop;
  }

  #onWheel(event) {
    if (!event.ctrlKey) return;
    event.preventDefault();
    const frame = this.scroller.getBoundingClientRect();
    this.#zoomBy(Math.exp(-event.deltaY / 300), event.clientX - frame.left, event.clientY - frame.top);
  }

  // A finger pans by scrolling; a mouse needs this.
  #dragToPan() {
    const { scroller } = this;
    let from = null;
    scroller.addEventListener("pointerdown", (event) => {
      if (event.pointerType === "mouse" && event.button === 0) {
        from = { x: event.clientX + scroller.scrollLeft, y: event.clientY + scroller.scrollTop };
      }
    });
    scroller.addEventListener("pointermove", (event) => {
      if (from === null) return;
      if (event.buttons === 0) return void (from = null);
      scroller.classList.add("panned");
      scroller.scrollLeft = from.x - event.clientX;
      scroller.scrollTop = from.y - event.clientY;
    });
    for (const name of ["pointerup", "pointerleave"]) {
      scroller.addEventListener(name, () => {
        from = null;
        scroller.classList.remove("panned");
      });
    }
  }
}

customElements.define("derivation-tree", DerivationTree);
