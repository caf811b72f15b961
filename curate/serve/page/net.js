// How the page talks to the server. An edit waits in a queue until the server has
// it on disk; the queue is kept in the browser's storage under one key an edit, so
// that a reload or a new link finds it again. An edit is sent under an id: sent
// twice, it is made once.

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
  // on: {changed(), saved(seq), gone(waiting), back(), conflict(edit, why), refused(edit, why)}
  constructor(model, on) {
    this.model = model;
    this.on = on;
    this.queue = [];
    this.held = false;
    this.busy = false;
    this.lost = false;
    this.prefix = `hgld edit ${model.log} ${model.by} `;
    for (let i = 0; i < localStorage.length; i++) {
      const k = localStorage.key(i);
      if (k.startsWith(this.prefix)) this.queue.push(JSON.parse(localStorage.getItem(k)));
    }
    this.queue.sort((a, b) => a.made - b.made);
    for (const q of this.queue) model.show(q.edit);
  }

  add(edit) {
    const q = {id: crypto.randomUUID(), made: Date.now() + this.queue.length / 1000, base: this.model.version, edit};
    try {
      localStorage.setItem(this.prefix + q.id, JSON.stringify(q));
    } catch { /* full: the edit still is in the queue */ }
    this.queue.push(q);
    this.model.show(edit);
    this.on.changed();
    this.send();
  }

  done(q) {
    this.queue.splice(this.queue.indexOf(q), 1);
    localStorage.removeItem(this.prefix + q.id);
  }

  // take applies what the server says and then again what waits.
  take(view) {
    if (view.version <= this.model.version) return false;
    this.model.apply(view);
    for (const q of this.queue) this.model.show(q.edit);
    return true;
  }

  async reload() {
    this.model.load(await ask('/api/state'));
    for (const q of this.queue) this.model.show(q.edit);
  }

  async send() {
    if (this.busy || this.held) return;
    this.busy = true;
    while (this.queue.length && !this.held) {
      const q = this.queue[0];
      const began = performance.now();
      const of = typeof q.edit.of === 'string' ? this.model[q.edit.of] : q.edit.of; // "undo" or "redo"
      if (of === 0) { this.done(q); this.on.changed(); continue; }
      try {
        const a = await ask('/api/edit', {id: q.id, base: this.model.version, ...q.edit, ...(of === undefined ? {} : {of})});
        this.done(q);
        this.found();
        this.take(a);
        performance.measure('edit saved', {start: began});
        this.on.saved(a.seq);
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
      const overlap = this.overlaps(q.edit, e.body);
      this.take(e.body);
      this.on.changed();
      if (!overlap) return true;
      this.held = true;
      this.on.conflict(q.edit, overlap);
      return false;
    }
    if (e.status === 403 || e.status >= 500) {
      this.held = true;
      this.on.conflict(q.edit, e.message);
      return false;
    }
    this.done(q);
    try { await this.reload(); } catch { this.missing(); }
    this.on.refused(q.edit, e.message);
    this.on.changed();
    return true;
  }

  // overlaps says what of an edit somebody else has changed meanwhile.
  overlaps(edit, view) {
    if (!['accept', 'move', 'drop', 'flag', 'note'].includes(edit.op) || edit.level) return 'groups have changed meanwhile';
    const changed = new Set(view.tags.at || []);
    const both = edit.from.filter((r) => changed.has(this.model.tagOf(r)));
    if (both.length) return `“${both[0].name}”${both.length > 1 ? ` and ${both.length - 1} more` : ''} changed meanwhile`;
    const target = view.groups.find((g) => g.level === 1 && this.model.groups[1][g.at] && this.model.groups[1][g.at].name === edit.to && g.name !== edit.to);
    return target ? `the group “${edit.to}” is called “${target.name}” now` : '';
  }

  retry() { this.held = false; this.send(); }

  async discard() {
    for (const q of [...this.queue]) this.done(q);
    this.held = false;
    await this.reload();
    this.on.changed();
  }

  missing() {
    if (!this.lost) { this.lost = true; this.since = Date.now(); }
    this.on.gone(this.queue.length);
  }

  found() {
    if (!this.lost) return;
    this.lost = false;
    this.on.back();
  }

  // watch asks for what other pages change, and notices when the server is gone.
  async watch() {
    for (;;) {
      try {
        const v = await ask(`/api/changes?since=${this.model.version}${this.lost ? '' : '&wait=1'}`);
        this.found();
        if (v.version < this.model.version) { await this.reload(); this.on.changed(); }
        if (this.take(v)) this.on.changed();
        this.send();
      } catch (e) {
        if (e instanceof Refused && e.status === 403) { this.on.conflict(null, e.message); return; }
        this.missing();
        await sleep(800);
      }
    }
  }
}
