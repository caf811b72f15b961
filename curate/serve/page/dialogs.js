import {h, fill, shown, key, number} from './dom.js';
import {best, fold, fuzzy} from './text.js';

// Dialogs are modal <dialog> elements: the browser keeps the focus inside and restores it, and
// Escape closes them.

export const dialogOpen = () => document.querySelector('dialog[open]') !== null;

let typing = null, resumed = null; // returns the text of the open dialog; the text that the next one begins with

// halfTyped returns what is typed in the open dialog, for resume; null if it has no field.
export const halfTyped = () => typing && typing();

// resume makes the next dialog begin with the result of halfTyped.
export function resume(typed) { resumed = typed; }

// onTyped registers a function that returns what is typed in a dialog.
function onTyped(d, typed) {
  typing = typed;
  d.addEventListener('left', () => { typing = null; });
}

// takeResumed returns what a dialog begins with, null for nothing.
function takeResumed() {
  const was = resumed;
  resumed = null;
  return was;
}

// open shows a dialog with a title and returns it. Its method leave closes it and dispatches "left"
// at once. The browser's own close event comes later, and a key pressed in between would act on the
// screen that the answer is about to replace.
function open(title, className, ...children) {
  const d = h('dialog', {class: className, 'aria-label': title}, h('h2', {}, title), ...children);
  const back = document.activeElement;
  const left = () => {
    if (!d.isConnected) return;
    d.remove();
    if (document.activeElement === document.body && back && back.isConnected) back.focus({preventScroll: true});
    d.dispatchEvent(new Event('left'));
  };
  d.leave = () => { d.close(); left(); };
  d.addEventListener('close', left); // by Escape
  d.addEventListener('click', (e) => { if (e.target === d) d.leave(); });
  document.body.append(d);
  d.showModal();
  return d;
}

// isEnter tells whether a key takes what is typed: Enter, once for each press, and not the one that
// ends the composition of a text by an input method.
const isEnter = (e) => e.key === 'Enter' && !e.isComposing && !e.repeat;

const mostShown = 50;

// choose asks for one of the items {name, note}, found by a part of its name. create is the word
// for a new item, if the name of a new one is allowed. more returns further items for the typed
// text. Those with declared stand before the others, unless another has the whole name that was typed. exists tells of a
// name that it cannot be new. The result is a name, with whole the item, or null.
export function choose({title, lead, items, create, value, more, whole, exists = () => false}) {
  return new Promise((resolve) => {
    let list = [], at = 0, result = null;
    const again = takeResumed();
    const folded = new Map(items.map((i) => [i, fold(i.name)])), foldedName = (i) => folded.get(i) ?? fold(i.name);
    const input = h('input', {type: 'text', role: 'combobox', 'aria-expanded': 'true', 'aria-controls': 'choices', 'aria-autocomplete': 'list',
      'aria-label': title, autocomplete: 'off', spellcheck: false, value: again?.text ?? value ?? ''});
    const box = h('div', {id: 'choices', class: 'choices', role: 'listbox', 'aria-label': title});
    const isNew = () => create && input.value !== '' && !items.some((i) => i.name === input.value) && !exists(input.value);
    const take = () => { if (list[at]) { result = whole ? list[at] : list[at].name; d.leave(); } };
    const draw = () => {
      fill(box, list.map((item, i) => h('div', {role: 'option', id: `choice-${i}`, class: i === at ? 'choice at' : 'choice', 'aria-selected': String(i === at),
        onclick: () => { at = i; take(); }},
      item.fresh ? h('span', {class: 'fresh'}, `new ${create} `) : null, h('span', {class: 'name'}, shown(item.name)),
        h('span', {class: 'soft'}, item.note || ''))));
      input.setAttribute('aria-activedescendant', list.length ? `choice-${at}` : '');
      const e = box.children[at];
      if (e) e.scrollIntoView({block: 'nearest'});
    };
    const filter = () => {
      const typed = fold(input.value.trim());
      const found = best([...items, ...(more ? more(input.value) : [])], (item) => fuzzy(typed, foldedName(item)));
      const rank = (item) => (foldedName(item) === typed ? 0 : item.declared ? 1 : 2);
      list = found.sort((x, y) => rank(x) - rank(y)).slice(0, mostShown);
      if (isNew()) list.push({name: input.value, fresh: true, note: ''});
      at = 0;
      draw();
    };
    input.addEventListener('input', filter);
    input.addEventListener('keydown', (e) => {
      const step = {ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10}[e.key];
      if (step) { at = Math.max(0, Math.min(list.length - 1, at + step)); draw(); e.preventDefault(); }
      if (isEnter(e)) { e.preventDefault(); if ((e.ctrlKey || e.metaKey) && isNew()) { result = input.value; d.leave(); } else take(); }
    });
    const d = open(title, 'palette', lead ? h('p', {class: 'soft'}, lead) : null, input, box,
      h('p', {class: 'keys'}, key('↑'), key('↓'), ' choose  ', key('Enter'), ' take  ', create ? [key('Ctrl Enter'), ' exactly what is typed  '] : null,
        key('Esc'), ' leave'));
    d.addEventListener('left', () => resolve(result));
    onTyped(d, () => ({text: input.value}));
    input.focus();
    if (!again) input.select();
    filter();
  });
}

// prompt asks for a text. The result is the text, or null.
export function prompt({title, lead, label, value, action, optional, choices}) {
  return new Promise((resolve) => {
    let result = null;
    const again = takeResumed();
    const input = h('input', {type: 'text', id: 'answer', value: again?.text ?? value ?? '', autocomplete: 'off', spellcheck: false});
    const take = () => { if (input.value !== '' || optional) { result = input.value; d.leave(); } };
    input.addEventListener('keydown', (e) => { if (isEnter(e)) { e.preventDefault(); take(); } });
    const d = open(title, 'ask', lead ? h('p', {class: 'soft'}, lead) : null, h('label', {for: 'answer'}, label), input,
      choices ? h('p', {class: 'chips'}, choices.map((c) => h('button', {type: 'button', onclick: () => { input.value = c; take(); }}, c))) : null,
      h('p', {class: 'buttons'}, h('button', {type: 'button', class: 'main-button', onclick: take}, action, ' ', key('Enter')),
        h('button', {type: 'button', onclick: () => d.leave()}, 'Cancel ', key('Esc'))));
    d.addEventListener('left', () => resolve(result));
    onTyped(d, () => ({text: input.value}));
    input.focus();
    if (!again) input.select();
  });
}

// check asks which items {name, note, more, off} of a list to take; all but those that are off are at first. Space changes one, and Enter takes
// the list. The result is the items, or null.
export function check({title, lead, items, action}) {
  return new Promise((resolve) => {
    let result = null;
    const boxes = items.map((_, i) => h('input', {type: 'checkbox', id: `check-${i}`, checked: !items[i].off}));
    const chosen = () => items.filter((_, i) => boxes[i].checked);
    const ok = h('button', {type: 'button', class: 'main-button', onclick: () => take()});
    const draw = () => { fill(ok, `${action} ${number(chosen().length)} `, key('Enter')); ok.disabled = !chosen().length; };
    const take = () => { if (chosen().length) { result = chosen(); d.leave(); } };
    const set = (on) => { for (const b of boxes) b.checked = on; draw(); };
    const list = h('ul', {class: 'checks'}, items.map((x, i) => h('li', {}, boxes[i], h('label', {for: `check-${i}`},
      h('span', {class: 'name', dir: 'auto'}, x.name),
      h('span', {class: 'soft'}, ` ${x.note}`), h('span', {class: 'soft examples', dir: 'auto'}, x.more)))));
    list.addEventListener('change', draw);
    list.addEventListener('keydown', (e) => {
      const at = boxes.indexOf(document.activeElement), to = {ArrowDown: at + 1, ArrowUp: at - 1}[e.key];
      if (boxes[to]) { boxes[to].focus(); e.preventDefault(); }
    });
    const d = open(title, 'wide', lead ? h('p', {class: 'soft'}, lead) : null, h('div', {class: 'body'}, list),
      h('p', {class: 'buttons'}, ok, h('button', {type: 'button', onclick: () => set(true)}, 'All'),
        h('button', {type: 'button', onclick: () => set(false)}, 'None'),
        h('button', {type: 'button', onclick: () => d.leave()}, 'Cancel ', key('Esc'))));
    d.addEventListener('keydown', (e) => { if (isEnter(e) && e.target.tagName !== 'BUTTON') { e.preventDefault(); take(); } });
    d.addEventListener('left', () => resolve(result));
    draw();
    boxes[0].focus();
  });
}

// inform shows elements until it is closed.
export function inform(title, className, ...children) {
  const ok = h('button', {type: 'button', class: 'main-button', autofocus: true, onclick: () => d.leave()}, 'Close ', key('Esc'));
  const d = open(title, className, h('div', {class: 'body', tabIndex: 0}, ...children), h('p', {class: 'buttons'}, ok));
  ok.focus();
  return d;
}

// confirm asks for one of a few answers; Enter gives the first. The result is the number of the
// answer, or −1.
export function confirm({title, body, answers}) {
  return new Promise((resolve) => {
    let result = -1;
    const buttons = answers.map((text, n) => h('button', {type: 'button', class: n ? '' : 'main-button', onclick: () => { result = n; d.leave(); }}, text,
      n ? null : [' ', key('Enter')]));
    const d = open(title, 'ask', h('div', {class: 'body'}, body), h('p', {class: 'buttons'}, buttons,
      h('button', {type: 'button', onclick: () => d.leave()}, 'Cancel ', key('Esc'))));
    d.addEventListener('left', () => resolve(result));
    buttons[0].focus();
  });
}

// preview shows the parts of a split. The keys 2 to 8 change their number, and r changes the
// start of k-means. The result is the parts [{to, tags}], or null.
export function preview({title, names, exists, make, max}) {
  return new Promise((resolve) => {
    let again = takeResumed();
    let k = again?.k ?? 2, seed = again?.seed ?? 1, parts = [], result = null, asked = 0;
    const body = h('div', {class: 'parts'});
    const status = h('p', {class: 'soft', role: 'status'});
    const inputs = () => [...body.querySelectorAll('input')];
    const buttons = h('p', {class: 'chips', role: 'group', 'aria-label': 'parts'});
    const draw = () => {
      fill(buttons, Array.from({length: Math.min(8, max) - 1}, (_, i) => h('button', {type: 'button', 'aria-pressed': String(k === i + 2),
        onclick: () => { k = i + 2; run(); }}, String(i + 2))), h('button', {type: 'button', onclick: () => { seed++; run(); }}, 'another start ', key('r')));
      const used = new Set();
      body.replaceChildren(...parts.map((tags, p) => {
        const name = names(tags).find((n) => !used.has(n) && !exists(n)) || `${names(tags)[0]} (${p + 1})`;
        used.add(name);
        return h('section', {class: 'part'}, h('input', {type: 'text', value: again?.names[p] ?? name, 'aria-label': `name of part ${p + 1}`,
          spellcheck: false}),
          h('p', {class: 'soft'}, `${number(tags.length)} tags`),
          h('ul', {}, names(tags).slice(0, 12).map((n) => h('li', {}, shown(n))),
            tags.length > 12 ? h('li', {class: 'soft'}, `and ${number(tags.length - 12)} more`) : null));
      }));
    };
    const run = async () => {
      const mine = ++asked;
      status.textContent = 'splitting…';
      try {
        const made = await make(k, seed);
        if (mine !== asked) return;
        parts = made;
        if (again?.k !== k || again.seed !== seed) again = null; // the names belong to another split
        status.textContent = `${k} parts, start ${seed}. Nothing is changed until you split.`;
      } catch (e) {
        parts = [];
        status.textContent = e.message;
      }
      draw();
    };
    const take = () => {
      const to = inputs().map((i) => i.value);
      if (!parts.length || to.some((n) => n === '') || new Set(to).size < to.length) { status.textContent = 'Every part needs a name of its own.'; return; }
      const bad = to.find((n) => exists(n));
      if (bad) { status.textContent = `There is a group “${bad}” already; choose another name.`; return; }
      result = parts.map((tags, p) => ({to: to[p], tags}));
      d.leave();
    };
    const ok = h('button', {type: 'button', class: 'main-button', onclick: take}, 'Split ', key('Enter'));
    const d = open(title, 'wide', buttons, status, body, h('p', {class: 'buttons'}, ok, h('button', {type: 'button', onclick: () => d.leave()}, 'Cancel ',
      key('Esc'))));
    d.addEventListener('keydown', (e) => {
      if (isEnter(e) && e.target !== d && (e.target.tagName === 'INPUT' || e.target === ok)) { e.preventDefault(); take(); return; }
      if (e.target.tagName === 'INPUT' || e.ctrlKey || e.metaKey) return;
      if (e.key >= '2' && e.key <= String(Math.min(8, max))) { k = Number(e.key); run(); }
      if (e.key === 'r') { seed++; run(); }
    });
    d.addEventListener('left', () => resolve(result));
    onTyped(d, () => ({k, seed, names: parts.length ? inputs().map((i) => i.value) : again?.names || []}));
    draw();
    run();
    ok.focus();
  });
}
