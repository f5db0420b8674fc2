for (const table of document.querySelectorAll("table.sortable")) {
  table.querySelectorAll("th").forEach((head, column) => head.addEventListener("click", () => {
    const up = head.getAttribute("aria-sort") === "descending";
    table.querySelectorAll("th").forEach(other => other.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", up ? "ascending" : "descending");
    const key = row => { const cell = row.cells[column]; return cell.dataset.v ?? cell.textContent; };
    const compare = (a, b) => {
      const [x, y] = [key(a), key(b)], [p, q] = [parseFloat(x), parseFloat(y)];
      return isNaN(p) || isNaN(q) ? x.localeCompare(y) : p - q;
    };
    const body = table.tBodies[0];
    [...body.rows].sort((a, b) => up ? compare(a, b) : compare(b, a)).forEach(row => body.append(row));
  }));
}
addEventListener("beforeprint", () => document.querySelectorAll("details").forEach(part => part.open = true));
