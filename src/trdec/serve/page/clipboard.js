// Copying text and pictures. Browsers offer the clipboard only to secure pages; elsewhere text is copied from a
// selection, and a picture is saved as a file.

import { make } from "./dom.js";

/** Copy a text; what happened, for people. */
export async function copyText(text, what) {
  if (navigator.clipboard?.writeText) {
    try {
      await navigator.clipboard.writeText(text);
      return `${what} copied`;
    } catch {
      // Refused, for example in a frame: try the selection.
    }
  }
  const area = make("textarea", { class: "offstage", readonly: "" });
  area.value = text;
  const focused = document.activeElement;
  document.body.append(area);
  area.select();
  const done = document.execCommand("copy");
  area.remove();
  focused?.focus?.({ preventScroll: true });
  return done ? `${what} copied` : "The browser does not allow copying";
}

/** Copy an SVG as a PNG picture, or save it where the browser cannot copy pictures; what happened, for people. */
export async function copyPng(svg, width, height, name) {
  const picture = rasterise(svg, width, height);
  if (navigator.clipboard?.write && window.ClipboardItem) {
    try {
      // A promise: some browsers refuse what is written later than the press of the button.
      await navigator.clipboard.write([new ClipboardItem({ "image/png": picture })]);
      return "PNG copied";
    } catch {
      // Refused: save it.
    }
  }
  const address = URL.createObjectURL(await picture);
  make("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
  return `Saved as ${name}`;
}

const LARGEST_SIDE = 8000; // browsers refuse canvases that are much larger

async function rasterise(svg, width, height) {
  const address = URL.createObjectURL(new Blob([svg], { type: "image/svg+xml" }));
  try {
    const image = new Image();
    image.src = address;
    await image.decode();
    const scale = Math.min(2, LARGEST_SIDE / Math.max(width, height));
    const canvas = make("canvas", { width: Math.ceil(width * scale), height: Math.ceil(height * scale) });
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    return await new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
  } finally {
    URL.revokeObjectURL(address);
  }
}
