// Flame graphs: where the CPU time of a stage goes. A row is called by the row above it; its width is its share.
const FLAME_ROW = 18;
function tree(profile) {
  const root = { name: "all", place: "", isOwn: true, value: 0, kids: new Map(), lines: new Map() };
  const child = (node, key, made) => { if (!node.kids.has(key)) node.kids.set(key, { ...made, value: 0, kids: new Map(), lines: new Map() }); return node.kids.get(key); };
  for (const [samples, process, ids] of profile.stacks) {
    let node = root; node.value += samples;
    if (profile.several) { node = child(node, process, { name: process, place: "", isOwn: true }); node.value += samples; }
    for (const id of ids) {
      const [name, place, line, library] = profile.frames[id];
      node = child(node, name + "\0" + place, { name, place, isOwn: !library }); node.value += samples;
      if (line) node.lines.set(line, (node.lines.get(line) || 0) + samples);
    }
    if (!ids.length) child(node, "?", { name: "not readable", place: "", isOwn: false }).value += samples;
  }
  const link = (node, depth) => { node.depth = depth; node.all = [...node.kids.values()].sort((a, b) => b.value - a.value); node.all.forEach(kid => { kid.up = node; link(kid, depth + 1); }); };
  link(root, 0); return root;
}
function flame(host, stage) {
  const profile = stage.profile, root = tree(profile), view = document.createElement("canvas"), said = document.createElement("p");
  const title = document.createElement("h3"); title.textContent = "inside stage " + stage.number + ", " + stage.text + ": " + profile.verdict;
  view.tabIndex = 0; view.setAttribute("role", "img"); view.className = "flame"; said.className = "said"; said.setAttribute("aria-live", "polite");
  view.setAttribute("aria-label", "Flame graph of stage " + stage.number + ": arrow keys choose a function, Enter enlarges it, Escape shows all; the table below has the most expensive lines as text");
  host.append(title, view, said);
  let top = root, chosen = root, boxes = [];
  const share = node => (100 * node.value / Math.max(root.value, 1)).toFixed(1) + "%";
  const told = node => {
    const lines = [...node.lines].sort((a, b) => b[1] - a[1]).slice(0, 6).map(([line, n]) => "line " + line + " " + (100 * n / root.value).toFixed(1) + "%").join(", ");
    return node.name + (node.place ? " of " + node.place : "") + ": " + share(node) + ", " + seconds(profile.cpu * node.value / Math.max(root.value, 1)) + (lines ? " (" + lines + ")" : "");
  };
  function draw() {
    const w = view.clientWidth, ratio = devicePixelRatio || 1; boxes = [];
    const put = (node, x, width) => {
      boxes.push({ shows: node, x, y: node.depth * FLAME_ROW, w: width }); let at = x;
      for (const kid of node.all) { const part = width * kid.value / Math.max(node.value, 1); if (part >= .7) put(kid, at, part); at += part; }
    };
    const path = []; for (let node = top.up; node; node = node.up) path.unshift(node);
    path.forEach(node => boxes.push({ shows: node, x: 0, y: node.depth * FLAME_ROW, w })); put(top, 0, w);
    const height = Math.max(...boxes.map(box => box.y)) + FLAME_ROW;
    view.style.height = height + "px"; view.width = w * ratio; view.height = height * ratio;
    const c = view.getContext("2d"); c.scale(ratio, ratio); c.font = "12px ui-monospace, monospace";
    const paint = { own: color("flame-own"), other: color("flame-library"), text: color("flame-text"), fg: color("fg"), bg: color("bg") };
    for (const box of boxes) {
      c.fillStyle = box.shows.isOwn ? paint.own : paint.other; c.fillRect(box.x, box.y, Math.max(box.w - .6, .4), FLAME_ROW - 1);
      if (box.shows === chosen) { c.strokeStyle = paint.fg; c.lineWidth = 2; c.strokeRect(box.x + 1, box.y + 1, Math.max(box.w - 2.6, 1), FLAME_ROW - 3); }
      c.fillStyle = paint.text; if (box.w > 24) c.fillText(clip(c, box.shows.name + (box.w > 300 && box.shows.place ? "  " + box.shows.place : ""), box.w - 6), box.x + 3, box.y + 13);
    }
    said.textContent = told(chosen);
  }
  const under = e => { const box = view.getBoundingClientRect(), x = e.clientX - box.left, y = e.clientY - box.top; const hit = boxes.findLast(b => x >= b.x && x < b.x + b.w && y >= b.y && y < b.y + FLAME_ROW); return hit && hit.shows; };
  view.addEventListener("pointermove", e => {
    const node = under(e); tip.style.display = node ? "block" : "none"; if (!node) return;
    tip.textContent = told(node).replace(" (", "\n").replace(/\)$/, "").replaceAll("%, line", "%\nline");
    tip.style.left = Math.min(e.clientX + 14, innerWidth - tip.offsetWidth - 8) + "px"; tip.style.top = Math.min(e.clientY + 14, innerHeight - tip.offsetHeight - 8) + "px";
  });
  view.addEventListener("pointerleave", () => { tip.style.display = "none"; });
  view.addEventListener("click", e => { const node = under(e); if (node) { top = node; chosen = node; draw(); } });
  view.addEventListener("keydown", e => {
    const beside = step => { const all = chosen.up ? chosen.up.all : [chosen]; return all[all.indexOf(chosen) + step] || chosen; };
    const next = { ArrowUp: () => chosen.up || chosen, ArrowDown: () => chosen.all[0] || chosen, ArrowLeft: () => beside(-1), ArrowRight: () => beside(1), Enter: () => (top = chosen), Escape: () => (top = root) }[e.key];
    if (!next) return;
    e.preventDefault(); e.stopPropagation(); chosen = next(); draw();
  });
  flames.push(draw); draw();
}
data.pipelines.forEach(p => p.stages.forEach((s, i) => { if (s.profile && s.profile.stacks.length) flame(document.getElementById("flames"), { ...s, number: i + 1 }); }));
