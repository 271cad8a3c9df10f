// Theme, tooltips, sorting. The page reads without it.
'use strict';
const plimsoll = (() => {
  const root = document.documentElement;
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const set = (element, attributes) => { for (const key in attributes) element.setAttribute(key, attributes[key]); return element; };
  const clamp = (value, low, high) => Math.max(low, Math.min(high, value));
  root.classList.add('js');

  // Theme. Heat maps are images: they are painted again when colours change.
  const painters = [], toggle = document.getElementById('theme'), system = matchMedia('(prefers-color-scheme: dark)');
  const dark = () => (root.dataset.theme || (system.matches ? 'dark' : 'light')) === 'dark';
  const recolour = () => {
    toggle.textContent = dark() ? 'Light' : 'Dark';
    toggle.setAttribute('aria-label', `Use ${toggle.textContent.toLowerCase()} colours`);
    painters.forEach(paint => paint());
  };
  toggle.onclick = () => { root.dataset.theme = dark() ? 'light' : 'dark'; recolour(); };
  system.addEventListener('change', recolour);
  addEventListener('beforeprint', () => all('.definitions').forEach(details => { details.open = true; }));

  // Tooltips: text only, never markup.
  const tip = set(document.body.appendChild(document.createElement('div')), { id: 'tip', role: 'tooltip' });
  const hide = () => { tip.style.visibility = 'hidden'; };
  const say = (text, x, y) => {
    tip.textContent = text;
    const left = clamp(x + 14, 4, innerWidth - tip.offsetWidth - 8), below = y + 18 + tip.offsetHeight < innerHeight;
    tip.style.transform = `translate(${left}px, ${Math.max(4, below ? y + 18 : y - tip.offsetHeight - 10)}px)`;
    tip.style.visibility = 'visible';
  };
  all('main [title]').forEach(e => { set(e, { 'data-tip': e.title, 'aria-description': e.title }); e.removeAttribute('title'); });
  addEventListener('pointermove', e => {
    const owner = e.target.closest && e.target.closest('[data-tip]');
    if (owner) say(owner.dataset.tip, e.clientX, e.clientY); else if (!e.shown) hide();
  });
  addEventListener('focusin', ({ target }) => {
    const box = target.getBoundingClientRect();
    if (target.dataset.tip && target.matches(':focus-visible')) say(target.dataset.tip, box.left, box.bottom - 12);
  });
  ['focusout', 'scroll', 'keydown'].forEach(name => addEventListener(name, hide, { passive: true }));

  // Sorting: numbers by their exact value, largest first; what is missing stays last.
  const sort = (table, th, column) => {
    const numeric = th.classList.contains('n'), was = th.getAttribute('aria-sort'), up = was ? was !== 'ascending' : !numeric;
    all('th', table).forEach(other => other.removeAttribute('aria-sort')); set(th, { 'aria-sort': up ? 'ascending' : 'descending' });
    const key = ({ dataset, textContent }) => dataset.v !== undefined ? +dataset.v : numeric ? NaN : textContent;
    const order = (a, b) => typeof a === 'string' ? a.localeCompare(b, 'en', { numeric: true }) : a - b, missing = v => v !== v;
    const keyed = [...table.tBodies[0].rows].map(row => [key(row.cells[column]), row]);
    keyed.sort(([a], [b]) => missing(a) || missing(b) ? missing(a) - missing(b) : up ? order(a, b) : order(b, a));
    table.tBodies[0].append(...keyed.map(pair => pair[1]));
  };
  all('table.sortable').forEach(table => all('th', table).forEach((th, column) => { th.firstChild.onclick = () => sort(table, th, column); }));
  recolour();
  return { all, set, clamp, say, hide, painters };
})();
