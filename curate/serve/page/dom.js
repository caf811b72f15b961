// Elements are made here and nowhere else: text goes in as text, so that a label
// can hold whatever it likes.

// h makes an element. Props are properties, but "on…" listeners, "class", "data"
// and anything with a dash, which is an attribute.
export function h(name, props, ...children) {
  const e = document.createElement(name);
  for (const [key, value] of Object.entries(props || {})) { // a property that is not given is left alone
    if (value === undefined || value === null || (value === false && typeof e[key] !== 'boolean')) continue;
    if (key.startsWith('on')) e.addEventListener(key.slice(2), value);
    else if (key === 'class') e.className = value;
    else if (key === 'data') Object.assign(e.dataset, value);
    else if (key.includes('-') || key === 'role' || key === 'for') e.setAttribute(key, value);
    else e[key] = value;
  }
  e.append(...children.flat().filter((c) => c !== null && c !== undefined && c !== false));
  return e;
}

export const byId = (id) => document.getElementById(id);

// fill replaces the children of an element.
export function fill(e, ...children) { e.replaceChildren(...children.flat().filter(Boolean)); }

const grouped = new Intl.NumberFormat('en');
export const number = (n) => grouped.format(n);
export const count = (n, what) => `${number(n)} ${what}${n === 1 ? '' : 's'}`;

// shown makes white space at the ends of a name visible, and a no-break or double
// space within it.
export function shown(name) {
  return name.replace(/^ +| +$|\u00a0| {2,}/g, (s) => '␣'.repeat(s.length));
}

// key shows a key.
export const key = (k) => h('kbd', {'aria-hidden': 'true'}, k);
