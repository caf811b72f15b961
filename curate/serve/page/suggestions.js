import {ask} from './net.js';
import {decide} from './commands.js';

// A digit that was pressed before the suggestions were there waits for them, visibly, for this time
// in milliseconds at most.
const patience = 3000;

const suggestLimit = 15 * 1000; // milliseconds after which suggestions are requested again

// Suggestions are the groups nearest to the chosen labels. The keys 1 to 5 take them.
export class Suggestions {
  // near is the last answer, and answered the choice that it belongs to.
  constructor(app) { Object.assign(this, {app, near: [], answered: '', wanted: undefined, asking: false, digit: undefined}); }

  // list returns the suggestions for the present choice whose groups still exist. It is empty
  // while the answer is on its way.
  list() {
    const groups = this.app.model.groups[1];
    if (this.answered !== this.app.view.choice()) return [];
    return this.near.filter((x) => groups[x.at] && !groups[x.at].gone && groups[x.at].name === x.name);
  }

  // ask requests the nearest groups, one request at a time. If the choice changes meanwhile, it
  // asks again afterwards. An edit on its way goes first.
  async ask() {
    const {model, view, sender} = this.app;
    const tags = view.chosen(), choice = view.choice(), wanted = `${model.version} ${choice}`;
    if (!model.has.suggest || !tags.length || this.asking || sender.queue.length || this.wanted === wanted || ['review', 'classes'].includes(view.kind)) return;
    this.wanted = wanted;
    this.asking = true;
    try {
      const a = await ask('/api/suggest', {tags}, suggestLimit);
      this.near = a.near.flatMap((x) => (model.groups[1][x.at] ? [{...x, name: model.groups[1][x.at].name}] : []));
      this.answered = choice;
    } catch { this.wanted = undefined; }
    this.asking = false;
    if (this.wanted) view.draw(); // and ask again if the choice has changed
    const {digit} = this;
    if (!digit) return;
    if (digit.choice !== view.choice()) this.forget();
    else if (this.answered === digit.choice) { this.forget(); this.take(digit.n); }
  }

  // forget ends the wait of a digit.
  forget() {
    clearTimeout(this.digit?.timer);
    this.digit = undefined;
  }

  // waiting is the digit that waits for the suggestions of the present choice, 0 if none does.
  get waiting() { return this.digit && this.digit.choice === this.app.view.choice() ? this.digit.n + 1 : 0; }

  // take moves the chosen labels to the n-th suggestion. If the answer is on its way, the move
  // waits for it.
  take(n) {
    const {model, view, review} = this.app;
    if (view.kind === 'review') {
      review.digit(n + 1);
      return;
    }
    const list = this.list(), tags = view.chosen();
    if (list[n]) { view.remember(tags); decide(this.app, 'move', tags, list[n].name); return; }
    if (list.length || !model.has.suggest || !tags.length || this.answered === view.choice()) return;
    const {sender} = this.app;
    if (sender.held || sender.lost) { view.say('An edit is not saved yet, so there are no suggestions. Press the digit again when it is.'); return; }
    view.remember(tags);
    this.forget();
    const expire = () => {
      this.forget();
      view.say(`The suggestions took too long: ${n + 1} was not taken. Press it again.`);
      view.draw();
    };
    this.digit = {n, choice: view.choice(), timer: setTimeout(expire, patience)};
    view.draw();
  }
}
