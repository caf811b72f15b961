import {h, byId} from './dom.js';

// menu makes a button that opens a list of buttons below it. Enter, Space or ↓ open it, arrows move
// in it, and Escape and Tab close it. Every other key works as usual, so that the keys shown in the
// list can be pressed while it is open.
export function menu(name, items) {
  const list = h('div', {class: 'menu', role: 'menu', 'aria-label': name, popover: 'auto'}, items);
  const button = h('button', {type: 'button', class: 'opener', 'aria-haspopup': 'menu', 'aria-expanded': 'false', data: {menu: name}}, `${name} `,
    h('span', {'aria-hidden': 'true'}, '▾'));
  button.popoverTargetElement = list;
  for (const item of items) {
    item.setAttribute('role', 'menuitem');
    item.tabIndex = -1;
  }
  const usable = () => items.filter((x) => !x.disabled);
  list.addEventListener('beforetoggle', (e) => {
    button.setAttribute('aria-expanded', String(e.newState === 'open'));
    const {left, bottom} = button.getBoundingClientRect();
    list.style.left = `${Math.max(8, Math.min(left, innerWidth - 300))}px`;
    list.style.top = `${bottom + 4}px`;
  });
  list.addEventListener('toggle', (e) => { if (e.newState === 'open') usable()[0]?.focus(); });
  list.addEventListener('click', () => leave(), true); // before the chosen command opens a dialog
  const leave = (to = byId('grid')) => { list.hidePopover(); to.focus({preventScroll: true}); };
  button.addEventListener('keydown', (e) => { if (e.key === 'ArrowDown') { list.showPopover(); e.preventDefault(); e.stopPropagation(); } });
  list.addEventListener('keydown', (e) => {
    const all = usable(), at = all.indexOf(document.activeElement), n = all.length;
    const to = {ArrowDown: (at + 1) % n, ArrowUp: (at - 1 + n) % n, Home: 0, End: n - 1}[e.key];
    if (to !== undefined) all[to].focus();
    else if (e.key === 'Escape') leave(button);
    else if (e.key === 'Tab') { leave(button); return; } // the browser then moves the focus on
    else { if (e.key !== ' ' && e.key !== 'Enter' && e.key !== 'Shift' && e.key !== 'Control') leave(); return; }
    e.preventDefault();
    e.stopPropagation();
  });
  return [button, list];
}
