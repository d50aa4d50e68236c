// What a page does beyond being read: opening cases, searching, sorting, keys, copying, the theme.
// A report has it inline and asks for nothing over the network; a page of the server asks that server for its parts.
"use strict";
const themes = {
  chosen(value) {
    try {
      if (value === undefined) return localStorage.getItem("evalharness-theme");
      localStorage.setItem("evalharness-theme", value);
    } catch { /* pages opened from a file may have no storage */ }
    return null;
  },
};
if (themes.chosen()) document.documentElement.dataset.theme = themes.chosen(); // at once, before anything is drawn
document.addEventListener("DOMContentLoaded", () => {
  const $ = (selector, within = document) => within.querySelector(selector);
  const $$ = (selector, within = document) => [...within.querySelectorAll(selector)];
  const ROWS_AT_ONCE = 100, ROWS_BY_SCROLLING = 2000;
  const SAID_EVERY_MS = 5000, LOOKED_EVERY_MS = 1000;

  // Theme: the system's, unless the button chose one.
  const root = document.documentElement;
  $("#theme")?.addEventListener("click", () => {
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
    themes.chosen(root.dataset.theme);
  });

  // Packed data: base64 of deflated bytes; unpacked when it is first needed.
  const unpacked = new Map();
  const unpack = (id) => {
    if (!unpacked.has(id)) unpacked.set(id, (async () => {
      const packed = atob($(`#${id}`).textContent.trim().slice(1, -1));
      const bytes = Uint8Array.from(packed, (letter) => letter.charCodeAt(0));
      const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
      return new Uint8Array(await new Response(stream).arrayBuffer());
    })());
    return unpacked.get(id);
  };
  const index = (async () => {
    if (!$("#index")) return null;
    const found = JSON.parse(new TextDecoder().decode(await unpack("index")));
    const places = new Map();
    let start = 0;
    for (const [key, length] of found.panels) { places.set(key, [start, length]); start += length; }
    return { ...found, places };
  })();

  // On the server, whatever has an address also has parts, which are asked for one by one.
  const onServer = !$("#index");
  const part = async (address, name) => {
    const place = new URL(address, location.href);
    place.searchParams.set("part", name);
    place.hash = "";
    const holder = document.createElement("template");
    try {
      const answer = await fetch(place);
      if (!answer.ok) return null;
      holder.innerHTML = await answer.text();
    } catch { return null; }
    return holder.content;
  };

  // The panel of a case: in a file its bytes may lie in several chunks.
  const panel = async (key, address) => {
    if (onServer) return part(address, "panel");
    const known = await index;
    const place = known?.places.get(key);
    if (!place) return null;
    const [start, length] = place;
    const bytes = new Uint8Array(length);
    for (let at = Math.floor(start / known.chunk); at * known.chunk < start + length; at++) {
      const chunk = await unpack(`chunk-${at}`);
      const offset = at * known.chunk;
      const part = chunk.subarray(Math.max(0, start - offset), start + length - offset);
      bytes.set(part, Math.max(0, offset - start));
    }
    const holder = document.createElement("template");
    holder.innerHTML = new TextDecoder().decode(bytes);
    return holder.content;
  };
  // What the file had no room for. Where a page has several runs, a key begins with the number of its run.
  const missing = async (key) => {
    if (onServer) return $("#no-answer").content.cloneNode(true);
    const { show } = await index;
    const [number, name] = show.length > 1 ? [parseInt(key, 10), key.slice(key.indexOf("/") + 1)] : [0, key];
    const shown = $("#not-kept").content.cloneNode(true);
    const command = name.startsWith("-") ? `${show[number].replace(" CASE", "")} -- ${quoted(name)}` : show[number].replace("CASE", () => quoted(name));
    if (command) $("code", shown).textContent = command; else $(".command", shown).remove();
    return shown;
  };
  const quoted = (word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'"'"'`)}'`);

  // The state of the page is in its address: what is searched, sorted and opened.
  const address = () => new URLSearchParams(location.hash.slice(1));
  const go = (changes, { replace = false } = {}) => {
    const next = address();
    for (const [name, value] of Object.entries(changes)) value ? next.set(name, value) : next.delete(name);
    const text = `#${next}`;
    history.replaceState({ ...history.state, scroll: scrollY }, "");
    if (text !== location.hash) history[replace ? "replaceState" : "pushState"]({}, "", text === "#" ? location.pathname + location.search : text);
    apply();
  };

  // The table of cases: all rows are known from the index, a hundred at a time are in the page.
  const table = $("#cases table");
  const body = table && $("tbody", table);
  let rows = [], shown = [], drawn = 0, opened = null;
  const matches = (row, query) => {
    const words = (query.get("q") || "").toLowerCase().split(/\s+/).filter(Boolean);
    const text = `${row.id} ${row.name} ${row.tags.join(" ")} ${row.category}`.toLowerCase();
    return words.every((word) => text.includes(word))
      && (query.get("show") !== "failed" || row.state !== "passed")
      && (!query.get("category") || row.category === query.get("category"))
      && (!query.get("tag") || row.tags.includes(query.get("tag")));
  };
  const compare = (name) => (one, other) => {
    const a = one[name], b = other[name];
    if (a === b) return one.position - other.position;
    if (a === null || a === undefined) return 1;
    if (b === null || b === undefined) return -1;
    return a < b ? -1 : 1;
  };
  const cases = (number) => `${number.toLocaleString("en")} ${number === 1 ? "case" : "cases"}`;
  const drawRow = (row) => {
    const shownRow = $("#case-row").content.cloneNode(true);
    const line = $("tr", shownRow);
    const link = $("a", line);
    link.textContent = row.id;
    link.href = `#case=${encodeURIComponent(row.id)}`;
    link.dataset.case = row.id;
    $(".title", line).textContent = row.name && row.name !== row.id ? row.name : "";
    $(".strip-cell", line).append(strip(row));
    const texts = { ...row.shown, tags: row.tags.join(", "), "word-cell": row.state };
    for (const [name, text] of Object.entries(texts)) { const cell = $(`.${name}`, line); if (cell) cell.textContent = text; }
    return shownRow;
  };
  const strip = (row) => {
    const shape = $(`#strip-${row.strip ? "marks" : "bar"}`).content.cloneNode(true);
    const holder = shape.firstElementChild;
    $(".only-read", holder).textContent = row.label;
    if (!row.strip) {
      const mark = $(".mark", holder);
      mark.className = `mark is-${row.state}`;
      mark.textContent = known.marks[row.state];
      $(".fill", holder).setAttribute("width", `${100 * (row.rate ?? 0)}%`);
      $(".of", holder).textContent = row.share;
      return shape;
    }
    const place = $("[aria-hidden]", holder);
    for (const letter of row.strip) {
      const mark = document.createElement("b");
      const state = known.states[letter];
      mark.className = `is-${state}`;
      mark.textContent = known.marks[state];
      place.append(mark);
    }
    return shape;
  };
  let known = null;
  const drawMore = () => {
    const next = shown.slice(drawn, drawn + ROWS_AT_ONCE);
    const fragment = document.createDocumentFragment();
    for (const row of next) fragment.append(drawRow(row));
    body.append(fragment);
    drawn += next.length;
    $("#more").hidden = drawn >= shown.length;
    $("#more button").textContent = `Show more (${(shown.length - drawn).toLocaleString("en")} left)`;
  };
  let drawnFor = null;
  const drawTable = (query) => {
    const wanted = ["q", "show", "category", "tag", "sort"].map((name) => query.get(name) || "").join("\n");
    if (wanted === drawnFor) return;
    drawnFor = wanted;
    const sort = query.get("sort") || "", name = sort.replace(/^-/, "");
    shown = rows.filter((row) => matches(row, query));
    if (name) shown.sort(compare(name));
    if (sort.startsWith("-")) shown.reverse();
    body.replaceChildren();
    drawn = 0;
    opened = null;
    drawMore();
    const part = shown.length === rows.length ? "" : `${shown.length.toLocaleString("en")} of `;
    $("#count").textContent = `${part}${rows.length.toLocaleString("en")} ${rows.length === 1 ? "case" : "cases"}`;
    $("#none").hidden = shown.length > 0;
    for (const head of $$("th[data-sort]", table)) {
      head.setAttribute("aria-sort", head.dataset.sort !== name ? "none" : sort.startsWith("-") ? "descending" : "ascending");
    }
  };
  const readForm = (query) => {
    const form = $("#filters");
    const focused = document.activeElement;
    if (form.q !== focused) form.q.value = query.get("q") || "";
    form.show.value = query.get("show") || "all";
    for (const name of ["category", "tag", "sort"]) if (form[name]) form[name].value = query.get(name) || "";
  };

  // Opening a case in place, below its row.
  const close = () => {
    if (!opened) return;
    opened.link.setAttribute("aria-expanded", "false");
    opened.detail.remove();
    opened = null;
  };
  const keyOf = (link) => link.dataset.case;
  const linkTo = (key) => {
    if (onServer) return $$("a[data-case]").find((link) => keyOf(link) === key);
    const at = shown.findIndex((row) => row.id === key);
    while (table && drawn <= at) drawMore();
    return $$("a[data-case]").find((link) => keyOf(link) === key);
  };
  const openBelow = async (link, key) => {
    if (opened?.key === key) return opened.detail;
    close();
    const line = link.closest("tr"), detail = document.createElement("tr"), cell = document.createElement("td");
    detail.className = "opened";
    cell.colSpan = [...line.children].filter((each) => each.offsetParent).length || 1;
    detail.append(cell);
    line.after(detail);
    opened = { key, link, detail };
    link.setAttribute("aria-expanded", "true");
    cell.append((await panel(key, link.href)) || (await missing(key)));
    return detail;
  };
  const showTrial = (within, number) => {
    for (const each of $$("details.trial", within)) each.open = each.dataset.trials.split(" ").includes(number);
  };
  const openCase = async (query) => {
    const key = query.get("case");
    const link = key && linkTo(key);
    if (!link) return close();
    const detail = await openBelow(link, key);
    if (opened?.detail !== detail) return; // another case was opened meanwhile
    const trial = query.get("trial"), message = query.get("message");
    if (trial) showTrial(detail, trial);
    for (const each of $$(".here", detail)) each.classList.remove("here");
    const spot = (message && $(`details.trial[open] [data-message="${CSS.escape(message)}"]`, detail)) || $("[data-first-difference]", detail);
    if (message) spot?.classList.add("here");
    link.closest("tr").scrollIntoView({ block: "start" });
    link.focus({ preventScroll: true });
    if (spot && (message || spot.getBoundingClientRect().bottom > innerHeight)) spot.scrollIntoView({ block: "center" });
  };
  const apply = async () => {
    const query = address();
    if (table && known?.rows) { readForm(query); drawTable(query); }
    showGroups();
    if (known || onServer) await openCase(query);
  };

  // Failing cases are readable without a script; with one, opening a line brings everything there is.
  for (const fold of $$("details[data-panel]")) {
    fold.addEventListener("toggle", async () => {
      if (!fold.open || fold.dataset.whole) return;
      fold.dataset.whole = "yes";
      const whole = await panel(fold.dataset.panel, $(".panel a", fold)?.href);
      if (whole) $(".panel", fold).replaceWith(whole);
    });
  }

  // Links, buttons and forms.
  document.addEventListener("toggle", (event) => {
    if (!event.target.matches("details.trial")) return;
    const within = event.target.closest(".panel");
    for (const each of $$("a[data-trial]", within)) {
      if ($(`details.trial[open][data-trials~="${each.dataset.trial}"]`, within)) each.setAttribute("aria-current", "true");
      else each.removeAttribute("aria-current");
    }
  }, true);
  document.addEventListener("click", async (event) => {
    const trial = event.target.closest("a[data-trial]");
    if (trial && !event.metaKey && !event.ctrlKey && !event.shiftKey) {
      event.preventDefault();
      showTrial(trial.closest(".panel"), trial.dataset.trial);
      const here = address();
      here.set("trial", trial.dataset.trial);
      here.delete("message");
      if (trial.closest(".alone")) history.replaceState(history.state, "", trial.href);
      else if (here.get("case")) history.replaceState(history.state, "", `#${here}`);
      return;
    }
    const link = event.target.closest("a[data-case], a[href^='#']");
    if (link && (link.dataset.case || link.hash.includes("=")) && !event.metaKey && !event.ctrlKey && !event.shiftKey) {
      event.preventDefault();
      const wanted = link.dataset.case ? { case: link.dataset.case } : Object.fromEntries(new URLSearchParams(link.hash.slice(1)));
      const again = wanted.case && wanted.case === address().get("case") && !wanted.trial && !wanted.message;
      go(again ? { case: "", trial: "", message: "" } : { trial: "", message: "", ...wanted });
      return;
    }
    const button = event.target.closest("button");
    const line = event.target.closest(".cases > tbody > tr:not(.opened)");
    if (line && !button && !getSelection().toString()) $("a[data-case]", line)?.click();
    if (!button) return;
    if (button.dataset.copy !== undefined) {
      const source = button.dataset.copy ? document.getElementById(button.dataset.copy) : button.closest("[data-copied]")?.querySelector("pre, code");
      await copy(source?.textContent ?? "", button);
    } else if (button.dataset.sort && onServer) {
      event.preventDefault();
      await ask({ sort: button.value }, button.dataset.sort);
    } else if (button.dataset.sort) {
      const now = address().get("sort");
      go({ sort: now === button.dataset.sort ? `-${now}` : now === `-${button.dataset.sort}` ? "" : button.dataset.sort });
    } else if (button.dataset.step) {
      step(Number(button.dataset.step));
    } else if (button.dataset.group) {
      go({ group: button.dataset.group, case: "" });
    }
  });
  const copy = async (text, button) => {
    const before = button.textContent;
    try {
      await navigator.clipboard.writeText(text);
      button.textContent = "Copied";
    } catch {
      button.textContent = "Press Ctrl+C";
      const range = document.createRange();
      range.selectNodeContents(button.closest("[data-copied]").querySelector("pre, code"));
      getSelection().removeAllRanges();
      getSelection().addRange(range);
    }
    setTimeout(() => { button.textContent = before; }, 1500);
  };
  // The table of the server: what is asked of it is in the query of the address.
  let asked = 0, asking = false, listedFor = location.search, watchMore = () => {};
  const order = () => $("#filters select[name=sort]"); // the heads of the table are called `sort`, too
  const ask = async (changes, focused) => {
    const form = $("#filters"), place = new URL(form.action);
    const wanted = { ...Object.fromEntries([...new FormData(form)].filter(([name]) => name !== "sort")), sort: order().value, ...changes };
    for (const [name, value] of Object.entries(wanted)) if (value.trim() && !(name === "show" && value === "all")) place.searchParams.set(name, value.trim());
    const text = place.pathname + place.search;
    if (text !== location.pathname + location.search) history.pushState({}, "", text);
    listedFor = location.search;
    await showResults(text, focused);
  };
  const showResults = async (address, focused) => {
    const now = ++asked;
    const found = await part(address, "cases");
    if (now !== asked || !found) return; // somebody has typed on
    const results = $("#results", found), query = new URL(address, location.href).searchParams, form = $("#filters");
    opened = null;
    $("#results").replaceWith(results);
    $("#count").textContent = results.dataset.count;
    for (const name of ["category", "tag"]) if (form[name]) form[name].value = query.get(name) || "";
    if (form.q !== document.activeElement) form.q.value = query.get("q") || "";
    form.show.value = query.get("show") || "all";
    const sort = query.get("sort") || "";
    if (![...order().options].some((each) => each.value === sort)) order().append(new Option(sort.replace("-", "by falling "), sort));
    order().value = sort;
    if (focused) $(`button[data-sort="${focused}"]`, results)?.focus();
    watchMore();
  };
  const askMore = async () => {
    const link = $("#more a[rel=next]");
    if (!link || asking) return;
    asking = true;
    const now = asked, found = await part(link.href, "cases");
    asking = false;
    if (!found || now !== asked) return;
    $(".cases > tbody").append(...$(".cases > tbody", found).children);
    const more = $("#more", found);
    $("a[rel=prev]", more)?.remove();
    $("#more").replaceWith(more);
    watchMore();
  };
  let typing = 0;
  $("#filters")?.addEventListener("input", (event) => {
    clearTimeout(typing);
    const form = event.currentTarget;
    const update = () => onServer ? ask({}) : go({
      q: form.q.value.trim(), show: form.show.value === "all" ? "" : form.show.value,
      category: form.category?.value, tag: form.tag?.value, sort: event.target === order() ? order().value : address().get("sort"), case: "", trial: "", message: "",
    }, { replace: event.target === form.q });
    if (event.target === form.q) typing = setTimeout(update, onServer ? 250 : 120); else update();
  });
  $("#filters")?.addEventListener("submit", (event) => {
    event.preventDefault();
    if (onServer && !event.submitter?.dataset.sort) { clearTimeout(typing); ask({}); }
  });
  $("#more button")?.addEventListener("click", () => drawMore());
  if ($("#more") && "IntersectionObserver" in window) { // `watchMore` looks again at one that was replaced
    // Beyond some thousand rows the browser gets slow: from there on, the button adds more.
    const watcher = new IntersectionObserver((seen) => { if (!seen.some((each) => each.isIntersecting)) return;
      if (onServer) { if ($$(".cases > tbody > tr").length < ROWS_BY_SCROLLING) askMore(); } else if (known && drawn < ROWS_BY_SCROLLING) drawMore(); },
      { rootMargin: "400px" });
    watchMore = () => watcher.observe($("#more"));
    watchMore();
  }

  // Keys.
  const list = () => (table && !onServer ? shown.map((row) => row.id) : $$("tr:not([hidden]) > td a[data-case]").filter((link) => link.offsetParent).map(keyOf));
  const step = (by) => {
    const beside = $(`.actions a[rel=${by > 0 ? "next" : "prev"}]`);
    if (beside) { location.href = beside.href; return; }
    const keys = list(), at = keys.indexOf(address().get("case"));
    const next = at < 0 ? (by > 0 ? 0 : keys.length - 1) : at + by;
    if (keys[next] !== undefined) go({ case: keys[next], trial: "", message: "" });
  };
  const stepTrial = (by) => {
    const trials = $$("details.trial", opened ? opened.detail : $(".alone") ?? document.createElement("i"));
    const at = trials.findIndex((each) => each.open);
    const next = trials[at + by];
    if (next && !opened) { trials[at].open = false; next.open = true; $("summary", next).focus(); }
    else if (next) go({ trial: next.dataset.trials.split(" ")[0], message: "" });
  };
  const help = $("#keys");
  $("#show-keys")?.addEventListener("click", () => help.showModal());
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && event.target.closest("input, select")) { event.target.blur(); return; }
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, select, textarea, dialog")) return;
    const keys = {
      j: () => step(1), k: () => step(-1), "[": () => stepTrial(-1), "]": () => stepTrial(1),
      "/": () => $("#filters input[type=search]")?.focus(),
      f: () => onServer ? $("#filters") && ($("#filters").show.value = $("#filters").show.value === "failed" ? "all" : "failed", ask({})) : $("#filters") && go({ show: address().get("show") === "failed" ? "" : "failed", case: "" }),
      "?": () => help?.showModal(),
      Escape: () => address().get("case") && go({ case: "", trial: "", message: "" }),
    };
    if (keys[event.key]) { event.preventDefault(); keys[event.key](); }
  });
  let folded = [];
  addEventListener("beforeprint", () => {
    folded = $$("details:not([open])");
    for (const fold of folded) fold.open = true;
  });
  addEventListener("afterprint", () => { for (const fold of folded) fold.open = false; });

  // Compared cases: one group at a time.
  const showGroups = () => {
    for (const groups of $$(".groups")) {
      const first = groups.dataset.first;
      const asked = address().get("group") || "";
      const key = address().get("case");
      const shownWith = key && $$("a[data-case]").find((link) => keyOf(link) === key)?.closest("tr").dataset.group;
      const has = (group) => $$("button", groups).some((button) => button.dataset.group === group);
      const wanted = [asked, shownWith].find(has) ?? first;
      for (const button of $$("button", groups)) {
        button.setAttribute("aria-pressed", String(button.dataset.group === wanted));
        for (const part of $$(`tr[data-group="${CSS.escape(button.dataset.group)}"], p[data-group="${CSS.escape(button.dataset.group)}"]`)) {
          part.hidden = button.dataset.group !== wanted;
        }
      }
    }
  };
  const variant = $("#variant");
  const showVariant = () => {
    for (const cell of $$(".matrix [data-variant]")) cell.classList.toggle("other", cell.dataset.variant !== variant.value);
  };
  if (variant) { variant.addEventListener("change", () => { go({ case: "" }); showVariant(); }); showVariant(); }

  // A run that is under way: shown as it goes, said at most every five seconds, and read whole at its end.
  const follow = async () => {
    let said = "", saidAt = 0;
    for (;;) {
      const state = $("#live > section").dataset.state;
      if (state === "finished") { location.reload(); return; }
      const text = $("#live > section").dataset.said;
      if (text !== said && performance.now() - saidAt >= SAID_EVERY_MS) {
        $("#said").textContent = said = text;
        saidAt = performance.now();
      }
      if (state === "interrupted") return;
      await new Promise((resume) => { setTimeout(resume, LOOKED_EVERY_MS); });
      const found = document.hidden ? null : await part(location.pathname, "live");
      if (!found?.querySelector("section[data-state]")) continue;
      const open = $$("#live details").map((each) => each.open);
      $("#live").replaceChildren(found);
      $$("#live details").forEach((each, at) => { each.open = open[at] ?? each.open; });
    }
  };
  const begin = async () => {
    known = await index;
    if (known?.rows) {
      rows = known.rows.map((row, position) => ({ ...row, position }));
    }
    if (known || onServer) for (const each of $$(".needs-script")) each.hidden = false;
    for (const each of $$(".without-script")) each.hidden = true;
    if ($("#filter-fold") && matchMedia("(max-width: 719px)").matches) $("#filter-fold").open = false;
    await apply();
    $("#here")?.scrollIntoView({ block: "center" });
    if ($("#live")) follow();
    document.documentElement.dataset.ready = "yes";
  };
  addEventListener("popstate", async (event) => {
    if (onServer && $("#filters") && location.search !== listedFor) { listedFor = location.search; await showResults(location.href); }
    await apply();
    if (event.state?.scroll !== undefined) scrollTo(0, event.state.scroll);
  });
  begin();
});
