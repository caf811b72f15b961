// Elements are made here and nowhere else: text goes in as text, so that a label
// can hold whatever it likes.

// h makes an element. Props are properties, listeners ("onclick") among them, but
// "class", "data" and anything with a dash, which is an attribute.
export function h(name, props, ...children) {
  const e = document.createElement(name);
  for (const [key, value] of Object.entries(props || {})) { // a property that is not given is left alone
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

// fill gives an element other children. Those that were there become what is wanted
// where they can: focus, hover and the eye stay with them.
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

// become makes an element like another that h has made.
export function become(e, to) {
  for (const {name} of [...e.attributes]) if (name !== 'style' && !to.hasAttribute(name)) e.removeAttribute(name);
  for (const {name, value} of to.attributes) if (name !== 'style' && e.getAttribute(name) !== value) e.setAttribute(name, value);
  if (to.style.length && e.style.cssText !== to.style.cssText) e.style.cssText = to.style.cssText;
  e.onclick = to.onclick;
  fill(e, [...to.childNodes]);
}

// attribute and write change an element where it differs.
export function attribute(e, name, value) { if (e.getAttribute(name) !== String(value)) e.setAttribute(name, value); }
export function write(node, text) { if (node.textContent !== text) node.textContent = text; }

const grouped = new Intl.NumberFormat('en');
export const number = (n) => (n < 1000 ? String(n) : grouped.format(n));
export const count = (n, what) => `${number(n)} ${n === 1 ? what : `${what.replace(/y$/, 'ie')}s`}`;

// shown makes white space at the ends of a name visible, and a no-break or double
// space within it.
export function shown(name) {
  return name.replace(/^ +| +$|\u00a0| {2,}/g, (s) => '␣'.repeat(s.length));
}

// hidden is a text that is told and not seen.
export const hidden = (text) => h('span', {class: 'told'}, text);

// key shows a key.
export const key = (k) => h('kbd', {'aria-hidden': 'true'}, k);
