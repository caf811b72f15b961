import {dialogOpen, halfTyped, resume} from './dialogs.js';

// The state of a tab that outlives a reload: marks, the cursor, fields and the open dialog. It
// refers to labels by name, so that it also fits another draft of the same log.

const storageKey = (app) => `hgld state ${app.model.queue}`;

// stateOf returns the state, with the labels by name.
function stateOf({model, view, command, examples, find, proposals, rate}) {
  const {grid, tree, marks} = view, ref = (i) => model.ref(i);
  return {draft: model.draft, marks: [...marks].map((i) => [ref(i), marks.seen.get(i)]), at: grid.current() === undefined ? null : ref(grid.current()),
    level: tree.level, groups: [...tree.marked], images: examples.on, singly: view.singly, sorting: view.sorting,
      find: find.saved(), proposals: proposals.saved(), rate: rate.saved(),
      dialog: dialogOpen() && command ? {command: command, typed: halfTyped()} : null};
}

// applyState restores marks and settings, as far as their labels exist, and returns the label at
// the cursor.
export function applyState({model, view, examples}, saved) {
  const {marks, tree} = view;
  marks.clear();
  let lost = 0;
  for (const [ref, seen] of saved.marks) {
    const i = model.tagOf(ref);
    if (i === undefined) { lost++; continue; }
    marks.add(i);
    if (saved.draft === model.draft) marks.seen.set(i, seen); // groups of another draft have other numbers
  }
  if (lost) view.say(`${lost} of the selected tags ${lost === 1 ? 'is' : 'are'} not in this draft.`);
  tree.level = saved.level;
  for (const name of saved.groups) tree.marked.add(name);
  examples.on = saved.images;
  view.singly = !!saved.singly;
  view.sorting = saved.sorting || 'sure';
  return saved.at ? model.tagOf(saved.at) : undefined;
}

// saveOnLeaving saves the state, the address and the fields when the page is left or hidden. Each
// tab has its own.
export function saveOnLeaving(app, fields) {
  const save = () => {
    try {
      sessionStorage.setItem(storageKey(app), JSON.stringify({...stateOf(app), address: location.hash,
        fields: fields.map((e) => (e.type === 'checkbox' ? e.checked : e.value))}));
    } catch { /* the storage is full: the marks are not saved */ }
  };
  addEventListener('pagehide', save);
  addEventListener('visibilitychange', () => { if (document.visibilityState === 'hidden') save(); });
}

// takeState returns the saved state of this tab and deletes it; null if there is none. It
// restores the fields.
export function takeState(app, fields) {
  const text = sessionStorage.getItem(storageKey(app));
  if (!text) return null;
  sessionStorage.removeItem(storageKey(app));
  const saved = JSON.parse(text);
  fields.forEach((e, n) => { if (e.type === 'checkbox') e.checked = saved.fields[n]; else e.value = saved.fields[n]; });
  return saved;
}

// reopenDialog opens the dialog that was open, with what was typed in it.
export function reopenDialog(app, saved, commands) {
  const command = saved.dialog && commands.find((c) => c.name === saved.dialog.command);
  if (!command || !saved.dialog.typed) return;
  resume(saved.dialog.typed);
  app.run(command);
}
