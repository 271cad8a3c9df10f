// Charts: zoom along x, tooltips with exact values, hiding of series, heat maps.
(({ all, set, clamp, say, hide, painters }) => {
  const make = (name, attributes, within) => within.appendChild(set(document.createElementNS('http://www.w3.org/2000/svg', name), attributes));

  // Numbers and ticks as number.rs and ticks.rs make them.
  const symbols = { bytes: ' B', 'bytes per second': ' B/s', seconds: ' s', 'seconds per byte': ' s/B', percent: ' %' };
  const binary = ['Pi', 'Ti', 'Gi', 'Mi', 'Ki', ''].map((name, i) => [1024 ** (5 - i), name]);
  const decimal = ['', 'm', 'µ', 'n', 'p'].map((name, i) => [1000 ** -i, name]);
  const prefix = (greatest, unit) => {
    if (unit === 'share') return [0.01, ' %'];
    const sizes = unit.startsWith('bytes') ? binary : unit.startsWith('seconds') ? decimal : [];
    const [size, name] = sizes.find(s => greatest >= s[0] * (1 - 1e-9)) || [1, ''];
    return [size, (symbols[unit] || '').replace(' ', ' ' + name)];
  };
  const shown = (value, unit) => {
    const [size, suffix] = prefix(Math.abs(value), unit), scaled = value / size;
    return (Number.isInteger(scaled) ? scaled.toLocaleString('en') : +scaled.toPrecision(4)) + suffix;
  };
  const exact = (value, unit) => {
    const short = shown(value, unit), raw = value + (symbols[unit] || '');
    return short.replace(/,/g, '') === raw ? short : `${short} (exactly ${raw})`;
  };
  const CLOCK = [15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200, 86400];
  const clock = value => {
    const s = Math.round(Math.abs(value)), two = n => String(n).padStart(2, '0'), minutes = Math.floor(s / 60), hours = Math.floor(s / 3600);
    return (value < 0 ? '-' : '') + (hours ? hours + ':' + two(minutes % 60) : minutes) + ':' + two(s % 60);
  };
  const ticks = (low, high, unit, most) => {
    const span = high - low, raw = span / most, power = 10 ** Math.floor(Math.log10(raw));
    let step = power * ([1, 2, 5].find(factor => factor * power >= raw * (1 - 1e-9)) || 10), digits = 0;
    if (unit.startsWith('bytes') && raw >= 1) step = 2 ** Math.ceil(Math.log2(raw));
    if (unit === 'seconds' && span >= 120) step = CLOCK.find(s => s >= raw) || step;
    if (unit === 'count' && step < 1 && span >= 1) step = 1;
    const greatest = Math.max(Math.abs(low), Math.abs(high)), [size, suffix] = prefix(greatest, unit);
    while (digits < 12 && Math.abs(step / size * 10 ** digits % 1 - 0.5) < 0.499999) digits++;
    const number = v => (v / size).toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits, useGrouping: !digits });
    const label = v => v === 0 ? '0' : unit === 'seconds' && step >= 15 && greatest >= 120 ? clock(v) : number(v) + suffix;
    const values = Array.from({ length: 13 }, (_, i) => (Math.ceil(low / step - 1e-9) + i) * step);
    return values.filter(v => v <= high + step * 1e-9).map(v => [v, label(v)]);
  };

  const named = (names, low, high, width) => {
    const widest = names.reduce((most, name) => Math.max(most, name.length), 0) * 6.6 + 16, raw = Math.max(widest * (high - low) / width, 1), power = 10 ** Math.floor(Math.log10(raw));
    const step = power * ([1, 2, 5].find(factor => factor * power >= raw * (1 - 1e-9)) || 10);
    return names.map((name, i) => [i, name]).filter(([i]) => i % step === 0 && i >= low && i <= high);
  };

  // Charts with data: pack.rs says how cells are packed.
  const unpack = text => {
    const bytes = Uint8Array.from(atob(text.slice(1)), c => c.charCodeAt(0)), out = [];
    if (text[0] === 'r') for (let i = 0; i < bytes.length; i += 2) for (let n = bytes[i + 1]; n >= 0; n--) out.push(bytes[i]);
    return text[0] === 'r' ? out : bytes;
  };
  const draw = (figure, svg, d, cells, hidden, [left, top, width, height]) => {
    const area = svg.querySelector('.area'), drawn = svg.viewBox.baseVal.width;
    const scale = (axis, low, high, size) => { const f = axis.scale === 'log' ? Math.log : v => v; return v => (f(v) - f(low)) / (f(high) - f(low)) * size; };
    const here = make('circle', { class: 'here', r: 5, visibility: 'hidden' }, svg), whole = d.x.high - d.x.low;
    let low = d.x.low, high = d.x.high, X = scale(d.x, low, high, width), drag = null;
    const Y = d.y && scale(d.y, d.y.high, d.y.low, height);
    const at = e => { const box = svg.getBoundingClientRect(), s = drawn / box.width; return [(e.clientX - box.left) * s - left, (e.clientY - box.top) * s - top]; };
    const show = (from, span) => {
      span = clamp(span, whole * 1e-4, whole); low = clamp(from, d.x.low, d.x.high - span); high = low + span;
      X = scale(d.x, low, high, width); set(here, { visibility: 'hidden' }); hide(); svg.classList.toggle('zoomed', span < whole);
      const path = ({ points, shape }) => points.filter(p => p[0] >= low && p[0] <= high).map(p => `M${X(p[0]).toFixed(1)} ${Y(p[1]).toFixed(1)}${shape}`).join('');
      if (d.kind === 'scatter') all('[data-s]', area).forEach((mark, i) => set(mark, { d: path(d.series[i]) }));
      else set(area, { viewBox: `${(low - d.x.low) / whole * width} 0 ${span / whole * width} ${height}` });
      const axis = svg.querySelector('.xaxis'); axis.textContent = '';
      for (const [value, label] of d.x.names.length ? named(d.x.names, low, high, width) : ticks(low, high, d.x.unit, clamp(Math.round(width / 110), 2, 8))) {
        const x = left + X(value), middle = Math.min(x, drawn - label.length * 3.3 - 2);
        make('path', { class: 'grid', d: `M${x} ${top}v${height}` }, axis);
        make('text', { class: 'tick', x: middle, y: top + height + 17, 'text-anchor': 'middle' }, axis).textContent = label;
      }
    };
    const nearest = (x, y) => {
      let best = 900, found = null;
      d.series.forEach((s, i) => hidden.has(i) || s.points.forEach(p => {
        const distance = (X(p[0]) - x) ** 2 + ((Y(p[1]) - y) / (d.kind === 'lines' ? 8 : 1)) ** 2;
        if (distance < best) { best = distance; found = [s, p]; }
      }));
      if (!found) return '';
      const [s, p] = found; set(here, { cx: left + X(p[0]), cy: top + Y(p[1]), visibility: 'visible' });
      return `${s.name}\n${d.x.names.length ? d.x.names[p[0]] : d.x.title + ': ' + exact(p[0], d.x.unit)}\n${d.y.title}: ${exact(p[1], d.y.unit)}`;
    };
    const cell = (x, y) => {
      const row = clamp(Math.floor(y / height * d.rows.length), 0, d.rows.length - 1), step = whole / d.columns;
      const column = clamp(Math.floor((low + x / width * (high - low) - d.x.low) / step), 0, d.columns - 1);
      const level = l => d.least && l ? d.least * (d.greatest / d.least) ** ((l - 1) / 254) : l / 255 * d.greatest;
      const value = values => shown(+level(values[row * d.columns + column]).toPrecision(3), d.value.unit);
      const lines = cells.map((values, i) => `${d.classes[i]}: about ${value(values)}`);
      return [`${d.row} ${d.rows[row]}`, `${d.x.title} from ${shown(d.x.low + column * step, d.x.unit)}`, ...lines].join('\n');
    };
    svg.addEventListener('pointermove', e => {
      const [x, y] = at(e); set(here, { visibility: 'hidden' });
      if (drag) show(drag[1] - (x - drag[0]) / width * (high - low), high - low);
      if (drag || x < 0 || y < 0 || x > width || y > height || d.kind === 'spans') return;
      const text = cells ? cell(x, y) : nearest(x, y); if (text) { say(text, e.clientX, e.clientY); e.shown = true; }
    });
    svg.addEventListener('pointerleave', () => set(here, { visibility: 'hidden' }));
    const zoom = (factor, share) => factor ? show(low + (high - low) * (1 - 1 / factor) * share, (high - low) / factor) : show(d.x.low, whole);
    if (svg.classList.contains('zooms')) {
      // The wheel scrolls the page until the reader has clicked the chart.
      const wheel = e => { e.preventDefault(); zoom(e.deltaY < 0 ? 1.25 : 0.8, clamp(at(e)[0] / width, 0, 1)); };
      svg.addEventListener('wheel', e => { if (document.activeElement === svg || e.ctrlKey) wheel(e); }, { passive: false });
      svg.addEventListener('pointerdown', e => { if (e.button === 0 && high - low < whole) { drag = [at(e)[0], low]; svg.setPointerCapture(e.pointerId); } });
      ['pointerup', 'pointercancel'].forEach(name => svg.addEventListener(name, () => { drag = null; }));
      svg.addEventListener('dblclick', () => zoom(0));
      svg.addEventListener('keydown', e => show(low + ({ ArrowLeft: -0.2, ArrowRight: 0.2 }[e.key] || 0) * (high - low), high - low));
      all('[data-zoom]', figure).forEach(button => button.addEventListener('click', () => zoom(+button.dataset.zoom, 0.5)));
    }
  };
  // Each size of a chart is drawn; what is hidden is hidden in all.
  const chart = (figure, d) => {
    const cells = d.cells && d.cells.map(unpack), hidden = new Set();
    all('.drawn > svg', figure).forEach((svg, size) => draw(figure, svg, d, cells, hidden, d.plot[size]));
    const paint = () => {
      const canvas = set(document.createElement('canvas'), { width: d.columns, height: d.rows.length });
      const colours = d.colours.map(i => getComputedStyle(document.documentElement).getPropertyValue('--c' + i).match(/\w\w/g).map(hex => parseInt(hex, 16)));
      const context = canvas.getContext('2d'), image = context.createImageData(canvas.width, canvas.height);
      for (let cell = 0; cell < d.columns * d.rows.length; cell++) {
        let most = 0, which = -1;
        for (let i = 0; i < cells.length; i++) if (cells[i][cell] > most && !hidden.has(i)) { most = cells[i][cell]; which = i; }
        if (which >= 0) image.data.set([...colours[which], 50 + most / 255 * 205], cell * 4);
      }
      context.putImageData(image, 0, 0); all('.cells', figure).forEach(painted => set(painted, { href: canvas.toDataURL() }));
    };
    if (cells) { painters.push(paint); paint(); }
    all('[data-series]', figure).forEach(button => { button.onclick = () => {
      const i = +button.dataset.series; if (!hidden.delete(i)) hidden.add(i);
      set(button, { 'aria-pressed': !hidden.has(i) });
      all(`[data-s="${i}"]`, figure).forEach(mark => { mark.style.display = hidden.has(i) ? 'none' : ''; });
      if (cells) paint();
    }; });
  };
  all('figure.chart > script').forEach(data => chart(data.parentNode, JSON.parse(data.textContent)));
})(plimsoll);
