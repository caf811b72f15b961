// Elements are made here and nowhere else. Text is always inserted as text, so that no label can
// become markup.

// h makes an element. props are its properties, including listeners such as "onclick". "class"
// and "data" set the class and the data set; "role", "for" and names with a dash are attributes.
export function h(name, props, ...children) {
  const e = document.createElement(name);
  for (const [key, value] of Object.entries(props || {})) { // an undefined property is left alone
    if (value === undefined || value === null || (value === false && typeof e[key] !== 'boolean')) continue;
    if (key === 'class') e.className = value;
    else if (key === 'data') Object.assign(e.dataset, value);
    else if (key.includes('-') || key === 'role' || key === 'for') e.setAttribute(key, value);
    else e[key] = value;
  }
  e.append(...children.flat().filter((c) => c !== null && c !== undefined && c !== false));
  return e;
}

export const byId = (id) => document.getElementById(id);

// fill replaces the children of an element. It changes existing children where it can, so that
// they keep the focus and the hover.
export function fill(e, ...children) {
  const list = children.flat(2).filter(Boolean).map((c) => (typeof c === 'string' ? document.createTextNode(c) : c));
  [...e.childNodes].slice(list.length).forEach((c) => c.remove());
  list.forEach((to, i) => {
    const c = e.childNodes[i];
    if (!c) e.append(to);
    else if (c.nodeName !== to.nodeName) c.replaceWith(to);
    else if (c.nodeType !== Node.ELEMENT_NODE) { if (c.data !== to.data) c.data = to.data; } else become(c, to);
  });
}

// become makes an element equal to another one that h has made.
export function become(e, to) {
  for (const {name} of [...e.attributes]) if (name !== 'style' && !to.hasAttribute(name)) e.removeAttribute(name);
  for (const {name, value} of to.attributes) if (name !== 'style' && e.getAttribute(name) !== value) e.setAttribute(name, value);
  if (to.style.length && e.style.cssText !== to.style.cssText) e.style.cssText = to.style.cssText;
  e.onclick = to.onclick;
  fill(e, [...to.childNodes]);
}

// attribute sets an attribute if it differs.
export function attribute(e, name, value) { if (e.getAttribute(name) !== String(value)) e.setAttribute(name, value); }

// write sets the text of an element if it differs.
export function write(node, text) { if (node.textContent !== text) node.textContent = text; }

const withCommas = new Intl.NumberFormat('en');

// number writes a number with commas between thousands.
export const number = (n) => (n < 1000 ? String(n) : withCommas.format(n));

// count writes a number with a noun, which gets its plural.
export const count = (n, what) => `${number(n)} ${n === 1 ? what : `${what.replace(/y$/, 'ie')}s`}`;

// Letters that are written from right to left, and characters that change the direction.
const rightToLeft = /[\u0590-\u08ff\u200e\u200f\u202a-\u202e\u2066-\u2069\ufb1d-\ufdff\ufe70-\ufefc]/;

// shown makes spaces at the ends of a name visible, and no-break or double spaces within it. A name that is
// written from right to left is isolated, so that it does not move the text around it.
export function shown(name) {
  const text = name.replace(/^ +| +$|\u00a0| {2,}/g, (s) => '␣'.repeat(s.length));
  return rightToLeft.test(text) ? `\u2068${text}\u2069` : text;
}

// hidden is a text for screen readers alone.
export const hidden = (text) => h('span', {class: 'told'}, text);

// key is an element that shows a key.
export const key = (k) => h('kbd', {'aria-hidden': 'true'}, k);
