// A plot of curves over rounds as SVG, with a text that says the same.

const SPACE = "http://www.w3.org/2000/svg";
const WIDTH = 360;
const HEIGHT = 150;
const LEFT = 46;
const BOTTOM = 20;
const TOP = 8;

/** Make an SVG element. @param {string} name @param {Record<string, string | number>} given @param {string} [text] */
function drawn(name, given, text) {
  const element = document.createElementNS(SPACE, name);
  for (const [key, value] of Object.entries(given)) element.setAttribute(key, String(value));
  if (text !== undefined) element.textContent = text;
  return element;
}

/**
 * Plot curves: each a name and its points [round, value]. A second curve is dashed.
 * @param {string} title @param {[string, number[][]][]} curves @param {number} digits
 */
export function plot(title, curves, digits) {
  const figure = document.createElement("figure");
  const caption = document.createElement("figcaption");
  caption.textContent = curves.length > 1 ? `${title} (${curves.map(([name], i) => `${name}${i ? ", dashed" : ""}`).join("; ")})` : title;
  const every = curves.flatMap(([, points]) => points);
  const said = curves.filter(([, points]) => points.length).map(([name, points]) => {
    const [first, last] = [points[0], points[points.length - 1]];
    return `${name} ${first[1].toFixed(digits)} in round ${first[0]}, ${last[1].toFixed(digits)} in round ${last[0]}`;
  });
  const svg = drawn("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": `${title}: ${said.join("; ") || "no rounds yet"}` });
  figure.append(caption, svg);
  svg.append(drawn("path", { class: "axis", d: `M${LEFT} ${TOP}V${HEIGHT - BOTTOM}H${WIDTH - 4}` }));
  if (!every.length) {
    svg.append(drawn("text", { x: WIDTH / 2, y: HEIGHT / 2, "text-anchor": "middle" }, "no rounds yet"));
    return figure;
  }
  const rounds = every.map(([round]) => round);
  const values = every.map(([, value]) => value);
  const [from, to] = [Math.min(...rounds), Math.max(...rounds)];
  const most = Math.max(...values);
  const least = digits === 0 || curves.length > 1 ? 0 : Math.min(...values); // counts and bytes begin at 0
  const x = (round) => LEFT + 8 + ((round - from) / Math.max(1, to - from)) * (WIDTH - LEFT - 20);
  const y = (value) => HEIGHT - BOTTOM - 6 - ((value - least) / (most - least || 1)) * (HEIGHT - BOTTOM - TOP - 12);
  for (const value of most === least ? [most] : [least, most]) {
    svg.append(drawn("text", { x: LEFT - 6, y: y(value) + 4, "text-anchor": "end" }, value.toFixed(digits)));
  }
  for (const round of from === to ? [from] : [from, to]) {
    svg.append(drawn("text", { x: x(round), y: HEIGHT - 5, "text-anchor": "middle" }, String(round)));
  }
  curves.forEach(([, points], i) => {
    const kind = i ? " second" : "";
    const path = points.map(([round, value], n) => `${n ? "L" : "M"}${x(round).toFixed(1)} ${y(value).toFixed(1)}`).join("");
    svg.append(drawn("path", { class: `line${kind}`, d: path }));
    const last = points[points.length - 1];
    if (last) svg.append(drawn("circle", { class: `dot${kind}`, cx: x(last[0]), cy: y(last[1]), r: 3 }));
  });
  return figure;
}
