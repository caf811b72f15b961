// A press on a heading sorts the table by its column: numbers by value, all else as text. What
// is no number in a column of numbers stays behind.
for (const button of document.querySelectorAll("th button")) button.addEventListener("click", () => {
  const th = button.parentElement, body = th.closest("table").tBodies[0];
  const down = th.getAttribute("aria-sort") === "ascending" || !th.hasAttribute("aria-sort") && !th.classList.contains("text");
  for (const other of th.parentElement.cells) other.removeAttribute("aria-sort");
  th.setAttribute("aria-sort", down ? "descending" : "ascending");
  const key = row => row.cells[th.cellIndex].textContent.replace("\u2212", "-");
  const number = text => { const v = Number(text); return text.trim() === "" || isNaN(v) ? null : v; };
  const compare = (a, b) => {
    const x = number(a.key), y = number(b.key);
    if (x === null || y === null) return x === y ? a.key.localeCompare(b.key) * (down ? -1 : 1) : x === null ? 1 : -1;
    return (x - y) * (down ? -1 : 1);
  };
  body.append(...[...body.rows].map(row => ({row, key: key(row)})).sort(compare).map(of => of.row));
});
