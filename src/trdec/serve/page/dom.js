// Making elements. Text only ever becomes a text node, so that nothing in it is read as markup.

const SVG = "http://www.w3.org/2000/svg";

/** An HTML element with attributes and children: elements, or strings that become text. */
export function make(name, attributes = {}, ...children) {
  return fill(document.createElement(name), attributes, children);
}

/** The same in SVG. */
export function makeSvg(name, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, name), attributes, children);
}

/** A button that does something when pressed. */
export function button(text, title, onPress, attributes = {}) {
  const made = make("button", { type: "button", title, ...attributes }, text);
  if (text !== title && !("aria-label" in attributes)) made.setAttribute("aria-label", title);
  made.addEventListener("click", onPress);
  return made;
}

function fill(element, attributes, children) {
  for (const [key, value] of Object.entries(attributes)) if (value !== null) element.setAttribute(key, value);
  element.append(...children);
  return element;
}
