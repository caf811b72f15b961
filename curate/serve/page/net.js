// How the page talks to the server. An edit waits in a queue until the server has
// it on disk; the queue is kept in the browser's storage under one key an edit, so
// that a reload or a new link finds it again; a log has keys of its own. An edit is
// sent under an id: sent twice, it is made once. It is sent with the version that
// its author saw, so what others did meanwhile is noticed.

const token = document.querySelector('meta[name=token]').content;

export class Refused extends Error {
  constructor(status, text, body) { super(text); this.status = status; this.body = body; }
}

// ask sends a request. A server that cannot be reached is a TypeError, an answer
// other than 200 is Refused.
export async function ask(path, body, signal) {
  const r = await fetch(path, {method: body === undefined ? 'GET' : 'POST', signal, cache: 'no-store', redirect: 'error',
    headers: body === undefined ? {'X-Hgld-Token': token} : {'X-Hgld-Token': token, 'Content-Type': 'application/json'},
    body: body === undefined ? undefined : JSON.stringify(body)});
  const text = await r.text();
  const json = (r.headers.get('Content-Type') || '').startsWith('application/json') ? JSON.parse(text) : null;
  if (!r.ok) throw new Refused(r.status, (json && json.error) || text.trim(), json);
  return json;
}

const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

export class Sender {
  // on: {changed(byOthers), saved(answer, edit), gone(waiting), back(), conflict(edit, why), refused(edit, why), another()}
  constructor(model, on) {
    this.model = model;
    this.on = on;
    this.queue = [];
    this.held = null; // {edit, why} that waits for a decision
    this.busy = false;
    this.lost = false;
    this.prefix = `hgld edit ${model.queue} `;
    for (let i = 0; i < localStorage.length; i++) {
      const k = localStorage.key(i);
      if (k.startsWith(this.prefix)) this.queue.push(JSON.parse(localStorage.getItem(k)));
    }
    this.queue.sort((a, b) => a.made - b.made);
    this.showAll();
  }

  // add sends an edit; what is kept and shown is done while it is on its way. Tags
  // are the labels it names.
  add(edit, tags) {
    const q = {id: crypto.randomUUID(), made: Date.now() + this.queue.length / 1000, base: this.model.version, target: this.model.placeOf(edit.to), edit};
    Object.defineProperties(q, {tags: {value: tags, writable: true}, began: {value: performance.now()}}); // of this page, nothing to keep
    this.queue.push(q);
    this.send();
    if (this.queue.includes(q)) this.keep(q);
    this.model.show(edit, tags);
    this.on.changed();
  }

  // showAll shows what waits on top of what the server has.
  showAll() { for (const q of this.queue) this.model.show(q.edit, q.tags); }

  keep(q) {
    try {
      localStorage.setItem(this.prefix + q.id, JSON.stringify(q));
    } catch { /* full: the edit still is in the queue */ }
  }

  rebase(q, version) { q.base = version; this.keep(q); }

  done(q) {
    this.queue.splice(this.queue.indexOf(q), 1);
    localStorage.removeItem(this.prefix + q.id);
  }

  // take applies what the server says and then again what waits. What is of another
  // draft fits nothing here; watch has the page opened anew for that.
  take(view) {
    if (view.version <= this.model.version || view.draft !== this.model.draft) return false;
    this.model.apply(view);
    this.showAll();
    return true;
  }

  async reload() {
    this.model.load(await ask('/api/state'));
    this.showAll();
  }

  async send() {
    if (this.busy || this.held) return;
    this.busy = true;
    while (this.queue.length && !this.held) {
      const q = this.queue[0];
      const of = typeof q.edit.of === 'string' ? this.model[q.edit.of] : q.edit.of; // "undo" or "redo"
      if (of === 0) { this.done(q); this.on.changed(); continue; }
      try {
        const a = await ask('/api/edit', {id: q.id, base: q.base, ...q.edit, ...(of === undefined ? {} : {of})});
        for (const x of this.queue) if (x !== q && x.base === a.seq - 1) this.rebase(x, a.seq); // its author has seen this one
        this.done(q);
        this.found();
        this.take(a);
        if (q.began) performance.measure('edit saved', {start: q.began});
        this.on.saved(a, q.edit);
        this.on.changed();
      } catch (e) {
        if (!(await this.failed(q, e))) break;
      }
    }
    this.busy = false;
  }

  // failed deals with an edit that was not saved; true goes on with the queue.
  async failed(q, e) {
    if (!(e instanceof Refused)) {
      this.missing();
      await sleep(700);
      return true;
    }
    if (e.status === 409) {
      const overlap = await this.catchUp(q, e.body);
      this.on.changed();
      return overlap ? this.hold(q, overlap) : true;
    }
    if (e.status !== 422) return this.hold(q, e.message);
    this.done(q);
    try { await this.reload(); } catch { this.missing(); }
    this.on.refused(q.edit, e.message);
    this.on.changed();
    return true;
  }

  hold(q, why) {
    this.held = {edit: q.edit, why};
    this.on.conflict(q.edit, why);
    return false;
  }

  // catchUp takes the state that an edit came too late for, and says what of the
  // edit it changes. Those that wait behind it were made on the same version: what
  // is their own needs no second look.
  async catchUp(q, view) {
    const was = q.base;
    if (view.draft !== this.model.draft) {
      this.on.another();
      return 'the server shows another draft now';
    }
    if (view.version < was) {
      this.rebase(q, view.version);
      try { await this.reload(); } catch { this.missing(); }
      return 'the log holds fewer edits than this page has seen';
    }
    const overlap = this.overlaps(q, view);
    for (const x of this.queue) if (x === q || (x.base === was && !this.overlaps(x, view))) this.rebase(x, view.version);
    this.take(view);
    return overlap;
  }

  // overlaps says what of an edit somebody else has changed meanwhile.
  overlaps({edit, target}, view) {
    if (!['accept', 'move', 'drop', 'flag', 'note'].includes(edit.op) || edit.level) return 'groups have changed meanwhile';
    const changed = new Set(view.tags.at || []);
    const both = edit.from.filter((r) => changed.has(this.model.tagOf(r)));
    if (both.length) return `“${both[0].name}”${both.length > 1 ? ` and ${both.length - 1} more` : ''} changed meanwhile`;
    const now = view.groups.find((g) => g.level === 1 && g.at === target);
    if (now && now.gone) return `the group “${edit.to}” is gone`;
    return now && now.name !== edit.to ? `the group “${edit.to}” is called “${now.name}” now` : '';
  }

  // retry sends what waits: its author has seen what the page shows.
  retry() {
    for (const q of this.queue) this.rebase(q, this.model.version);
    this.held = null;
    this.send();
  }

  async discard() {
    for (const q of [...this.queue]) this.done(q);
    this.held = null;
    await this.reload();
    this.on.changed();
  }

  missing() {
    this.lost = true;
    this.on.gone(this.queue.length);
  }

  found() {
    if (!this.lost) return;
    this.lost = false;
    this.on.back();
    if (this.held) this.on.conflict(this.held.edit, this.held.why);
  }

  // watch asks for what other pages change, and notices when the server is gone.
  async watch() {
    for (;;) {
      try {
        const v = await ask(`/api/changes?since=${this.model.version}${this.lost ? '' : '&wait=1'}`);
        this.found();
        if (v.draft !== this.model.draft) { this.on.another(); return; }
        if (v.version < this.model.version) { await this.reload(); this.on.changed(true); }
        if (this.take(v)) this.on.changed(true);
        this.send();
      } catch (e) {
        if (e instanceof Refused && e.status === 403) { this.on.conflict(null, e.message); return; }
        this.missing();
        await sleep(800);
      }
    }
  }
}
