import {dialogOpen, halfTyped, resume} from './dialogs.js';
import {DROPPED} from './model.js';

// What a curator has at hand, kept by name: it outlives a reload of the page, and
// another draft below it.

// Marks are the labels that are marked. The edition tells whether they have changed;
// seen is how each stood when it was marked, or when its curator changed it last.
export class Marks extends Set {
  constructor(model) {
    super();
    Object.assign(this, {model, edition: 0, seen: new Map()});
  }

  add(i) { this.edition++; this.seen.set(i, this.model.standing(i)); return super.add(i); }
  delete(i) { this.edition++; this.seen.delete(i); return super.delete(i); }
  clear() { this.edition++; this.seen.clear(); super.clear(); }

  // see takes labels as they stand now: their curator knows.
  see(tags) { for (const i of tags) if (this.has(i)) this.seen.set(i, this.model.standing(i)); }
}

// changed says of each label that stands elsewhere than its curator saw it what
// has become of it.
export function changed(model, tags, seen) {
  return tags.filter((i) => seen.has(i) && seen.get(i) !== model.standing(i))
    .map((i) => ({tag: i, what: model.status[i] & DROPPED ? 'dropped' : model.parent[i] >= 0 ? `in “${model.groups[1][model.parent[i]].name}”` : 'in no group'}));
}

// pack returns what is at hand, by name.
export function pack(app) {
  const {model, grid, tree, marks} = app, ref = (i) => model.ref(i);
  return {draft: model.draft, marks: [...marks].map((i) => [ref(i), marks.seen.get(i)]), at: grid.current() === undefined ? null : ref(grid.current()),
    level: tree.level, groups: [...tree.marked], images: app.imagesOn, singly: app.singly, rest: app.rest.kept(), pace: app.pace.kept(), dialog: dialogOpen() && app.command ? {command: app.command, typed: halfTyped()} : null};
}

// unpack takes up what pack has kept, as far as it is there, and returns the label
// that the keyboard was on.
export function unpack(app, kept) {
  const {model, marks} = app;
  marks.clear();
  let lost = 0;
  for (const [ref, seen] of kept.marks) {
    const i = model.tagOf(ref);
    if (i === undefined) { lost++; continue; }
    marks.add(i);
    if (kept.draft === model.draft) marks.seen.set(i, seen); // groups of another draft are other ones
  }
  if (lost) app.say(`${lost} of the marked labels ${lost === 1 ? 'is' : 'are'} not in this draft.`);
  app.tree.level = kept.level;
  for (const name of kept.groups) app.tree.marked.add(name);
  app.imagesOn = kept.images;
  app.singly = !!kept.singly;
  return kept.at ? model.tagOf(kept.at) : undefined;
}

const where = (app) => `hgld place ${app.model.queue}`;

// keepOnLeaving keeps what is at hand, and where, when the page is left or hidden.
// Each tab has its own.
export function keepOnLeaving(app, fields) {
  const keep = () => {
    try {
      sessionStorage.setItem(where(app), JSON.stringify({...pack(app), view: location.hash, fields: fields.map((e) => (e.type === 'checkbox' ? e.checked : e.value))}));
    } catch { /* full: the marks are not kept */ }
  };
  addEventListener('pagehide', keep);
  addEventListener('visibilitychange', () => { if (document.visibilityState === 'hidden') keep(); });
}

// takeUp returns what was kept by this tab, once; null if there is nothing.
export function takeUp(app, fields) {
  const text = sessionStorage.getItem(where(app));
  if (!text) return null;
  sessionStorage.removeItem(where(app));
  const kept = JSON.parse(text);
  fields.forEach((e, n) => { if (e.type === 'checkbox') e.checked = kept.fields[n]; else e.value = kept.fields[n]; });
  return kept;
}

// reopen opens the dialog that was half typed.
export function reopen(app, kept, commands) {
  const command = kept.dialog && commands.find((c) => c.name === kept.dialog.command);
  if (!command || !kept.dialog.typed) return;
  resume(kept.dialog.typed);
  app.do(command);
}
