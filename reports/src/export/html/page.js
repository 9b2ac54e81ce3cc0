"use strict";
(function () {
  var table = document.getElementById("windows-table");
  if (!table) return;
  var body = table.tBodies[0];
  var rows = Array.prototype.slice.call(body.rows);
  var tools = document.getElementById("windows-tools");
  var text = document.getElementById("windows-filter");
  var pick = document.getElementById("windows-class");
  var shown = document.getElementById("windows-shown");

  function filter() {
    var wanted = text.value.trim().toLowerCase();
    var number = 0;
    rows.forEach(function (row) {
      var fits = (!pick.value || row.dataset.c === pick.value) && (!wanted || row.textContent.toLowerCase().indexOf(wanted) >= 0);
      row.hidden = !fits;
      if (fits) number += 1;
    });
    shown.textContent = number + " of " + rows.length + " rows shown";
  }

  function key(row, column) {
    var cell = row.cells[column];
    var value = cell.dataset.v === undefined ? cell.textContent : cell.dataset.v;
    return cell.dataset.v === undefined ? value.toLowerCase() : value === "" ? NaN : Number(value);
  }

  function compare(a, b, up) {
    if (typeof a === "number") {
      if (isNaN(a) || isNaN(b)) return isNaN(a) ? (isNaN(b) ? 0 : 1) : -1;
      return up ? a - b : b - a;
    }
    return (a < b ? -1 : a > b ? 1 : 0) * (up ? 1 : -1);
  }

  Array.prototype.forEach.call(table.tHead.rows[0].cells, function (head, column) {
    var button = document.createElement("button");
    button.type = "button";
    while (head.firstChild) button.appendChild(head.firstChild);
    head.appendChild(button);
    button.addEventListener("click", function () {
      var up = head.getAttribute("aria-sort") !== "ascending";
      Array.prototype.forEach.call(table.tHead.rows[0].cells, function (other) { other.removeAttribute("aria-sort"); });
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
      rows.map(function (row, index) { return { row: row, index: index, key: key(row, column) }; })
        .sort(function (a, b) { return compare(a.key, b.key, up) || a.index - b.index; })
        .forEach(function (entry) { body.appendChild(entry.row); });
    });
  });
  text.addEventListener("input", filter);
  pick.addEventListener("change", filter);
  tools.hidden = false;
  filter();
})();
