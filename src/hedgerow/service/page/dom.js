/**
 * Building the page. Every text becomes a text node, so nothing that the server says is ever read as markup.
 *
 * @typedef {Node | string | number | null | undefined | false} Single
 * @typedef {Single | Single[]} Child
 * @typedef {Record<string, any>} Properties Attributes by name; `on` holds listeners; true and false set and leave out.
 */

const SVG = "http://www.w3.org/2000/svg";
const LIVE_PROPERTIES = new Set(["value", "checked", "disabled", "indeterminate", "selected"]);
let used = 0;

/**
 * An element.
 * @param {string} tag @param {Properties} [properties] @param {...Child} children @returns {any}
 */
export function h(tag, properties = {}, ...children) {
  return dressed(document.createElement(tag), properties, children);
}

/**
 * An element of a drawing.
 * @param {string} tag @param {Properties} [properties] @param {...Child} children @returns {any}
 */
export function draw(tag, properties = {}, ...children) {
  return dressed(document.createElementNS(SVG, tag), properties, children);
}

/** @param {any} element @param {Properties} properties @param {Child[]} children */
function dressed(element, properties, children) {
  element.append(...kept(children));
  for (const [name, value] of Object.entries(properties)) {
    if (name === "on") Object.entries(value).forEach(([event, listener]) => element.addEventListener(event, listener));
    else if (LIVE_PROPERTIES.has(name)) element[name] = value;
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, value === true ? "" : value);
  }
  return element;
}

/** @param {Child[]} children @returns {(Node | string)[]} */
function kept(children) {
  return children.flat().filter((child) => child !== null && child !== undefined && child !== false)
    .map((child) => (child instanceof Node ? child : String(child)));
}

/**
 * Put new children in the place of the old ones.
 * @param {Element} place @param {...Child} children
 */
export function fill(place, ...children) {
  place.replaceChildren(...kept(children));
}

/** An identifier that no other element of the page has. */
export function freshId() {
  used += 1;
  return `e${used}`;
}

/**
 * A labelled control with an optional hint that screen readers tell too.
 * @param {string} label @param {any} control @param {string} [hint] @returns {HTMLElement}
 */
export function field(label, control, hint = "") {
  const id = control.id || freshId();
  control.id = id;
  if (hint) control.setAttribute("aria-describedby", `${id}-hint`);
  return h("div", { class: "field" },
    h("label", { for: id }, label), control,
    hint && h("p", { class: "hint", id: `${id}-hint` }, hint));
}

/**
 * A checkbox or radio button with its text.
 * @param {any} control @param {Child} text @param {string} [title] @returns {HTMLElement}
 */
export function tick(control, text, title) {
  return h("label", { class: "tick", title }, control, h("span", {}, text));
}

/**
 * A select element.
 * @param {[string, string][]} options Values and texts. @param {string} chosen @param {Properties} [properties]
 */
export function choice(options, chosen, properties = {}) {
  return h("select", properties,
    options.map(([value, text]) => h("option", { value, selected: value === chosen }, text)));
}

/**
 * A table; on a narrow screen each row becomes a card, in which every cell names its column.
 * @param {string} caption @param {{title: string, class?: string}[]} columns
 * @param {Child[][]} rows @param {string} [kind]
 */
export function table(caption, columns, rows, kind = "") {
  return h("table", { class: `rows ${kind}`, role: "table" },
    h("caption", { class: "unseen" }, caption),
    h("thead", { role: "rowgroup" }, h("tr", { role: "row" },
      columns.map((column) => h("th", { scope: "col", role: "columnheader", class: column.class }, column.title || h("span", { class: "unseen" }, "What to do"))))),
    h("tbody", { role: "rowgroup" }, rows.map((cells) => h("tr", { role: "row" },
      cells.map((cell, i) => h("td", { role: "cell", class: columns[i].class, "data-label": columns[i].title }, cell !== "" && h("div", {}, cell)))))));
}

/** The head of a hash chain, to note somewhere else. @param {string} head */
export const chained = (head) => h("p", { class: "quiet" }, "Head of the hash chain: ", h("code", { class: "where" }, head));

/** Have screen readers say something. @param {string} text */
export function announce(text) {
  const place = document.getElementById("live");
  if (place) place.textContent = text;
}

/**
 * Ask before something that cannot be undone.
 * @param {string} title @param {string} text @param {string} action @returns {Promise<boolean>}
 */
export function confirmed(title, text, action) {
  return new Promise((resolve) => {
    const id = freshId();
    const dialog = h("dialog", { class: "dialog", "aria-labelledby": id },
      h("h2", { id }, title), h("p", {}, text),
      h("form", { method: "dialog", class: "actions" },
        h("button", { value: "", class: "button" }, "Cancel"),
        h("button", { value: "yes", class: "button danger" }, action)));
    dialog.addEventListener("close", () => {
      resolve(dialog.returnValue === "yes");
      dialog.remove();
    });
    document.body.append(dialog);
    dialog.showModal();
  });
}
