// The page on which people rate: number keys, everything kept as it is typed, nothing lost while the server is away.
"use strict";
const themes = {
  chosen(value) {
    try {
      if (value === undefined) return localStorage.getItem("evalharness-theme");
      localStorage.setItem("evalharness-theme", value);
    } catch { /* the browser may keep nothing */ }
    return null;
  },
};
if (themes.chosen()) document.documentElement.dataset.theme = themes.chosen();
document.addEventListener("DOMContentLoaded", () => {
  const $ = (selector, within = document) => within.querySelector(selector);
  const $$ = (selector, within = document) => [...within.querySelectorAll(selector)];
  const KEPT_AFTER_MS = 250, AGAIN_AFTER_MS = 1000, RENEWED_EVERY_MS = 60000;
  const root = document.documentElement;
  let page = 0, changes = 0, kept = 0, keeping = false, timer = 0, sending = false, isAway = false;

  const say = (text) => { const place = $("#saved"); if (place && place.textContent !== text) place.textContent = text; };
  const fields = (form) => new URLSearchParams([...new FormData(form)]);
  const wait = (ms) => new Promise((resume) => { setTimeout(resume, ms); });

  // What is typed is kept at once; while the server does not answer it is tried again and again.
  const keep = async () => {
    const form = $("#rate");
    if (!form || keeping || sending) return;
    keeping = true;
    const mine = page, upTo = changes;
    try {
      const answer = await fetch(form.dataset.keep, { method: "POST", body: fields(form), keepalive: true });
      if (mine !== page) return;
      isAway = false;
      if (answer.ok) { kept = upTo; say(changes === kept ? "Saved" : "Saving…"); } else say("Not saved. Reload this page.");
    } catch {
      isAway = true;
      if (mine === page) say("Not saved yet: the server does not answer. Stay on this page.");
    } finally { keeping = false; }
    if (mine === page && changes !== kept) { clearTimeout(timer); timer = setTimeout(keep, AGAIN_AFTER_MS); }
  };
  const changed = () => {
    changes += 1;
    say("Saving…");
    clearTimeout(timer);
    timer = setTimeout(keep, KEPT_AFTER_MS);
  };
  setInterval(() => { if ($("#rate") && !document.hidden) keep(); }, RENEWED_EVERY_MS);
  document.addEventListener("visibilitychange", () => { if (document.hidden && changes !== kept) keep(); });

  addEventListener("beforeunload", (event) => { if (isAway && (sending || changes !== kept)) event.preventDefault(); });

  // A form is sent until there is an answer, which takes the place of the page.
  const send = async (form, button) => {
    if (sending) return;
    sending = true;
    clearTimeout(timer);
    const body = fields(form);
    if (button?.name) body.set(button.name, button.value);
    if (form.id === "undo" || form.closest("#skip")) { sending = false; await keep(); sending = true; }
    for (;;) {
      try {
        const answer = await fetch(button?.formAction && button.hasAttribute("formaction") ? button.formAction : form.action, { method: "POST", body });
        if (answer.status === 503) throw new Error("busy");
        const text = await answer.text();
        sending = isAway = false;
        show(text);
        return;
      } catch {
        isAway = true;
        say("Not sent yet: the server does not answer. Stay on this page.");
        await wait(AGAIN_AFTER_MS);
      }
    }
  };
  const show = (text) => {
    const found = new DOMParser().parseFromString(text, "text/html");
    document.body.replaceWith(found.body);
    document.title = found.title;
    if (location.search) history.replaceState(null, "", location.pathname);
    scrollTo(0, 0);
    begin();
  };
  document.addEventListener("submit", (event) => {
    event.preventDefault();
    if (!event.submitter?.dataset.move) send(event.target, event.submitter);
  });
  document.addEventListener("input", (event) => { if (event.target.closest("#rate")) changed(); });

  // Ranking: a row changes its place.
  const move = (button) => {
    const row = button.closest("li"), up = button.dataset.move === "-1";
    const other = up ? row.previousElementSibling : row.nextElementSibling;
    if (!other) return;
    if (up) other.before(row); else other.after(row);
    for (const each of [row, other]) if ($("[name^='tied:']", each)) $("[name^='tied:']", each).checked = false;
    $$(".ranking > li").forEach((each, at) => { $("input[type=hidden]", each).value = String(at + 1); });
    ends();
    (button.disabled ? $("button:not(:disabled)", row) : button).focus();
    changed();
  };
  const ends = () => {
    const rows = $$(".ranking > li");
    rows.forEach((row, at) => {
      $("[data-move='-1']", row).disabled = at === 0;
      $("[data-move='1']", row).disabled = at === rows.length - 1;
      if ($(".tie", row)) $(".tie", row).hidden = at === 0;
    });
  };
  document.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (button?.dataset.move) { event.preventDefault(); move(button); }
    if (button?.id === "theme") {
      const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
      root.dataset.theme = dark ? "light" : "dark";
      themes.chosen(root.dataset.theme);
    }
  });

  // Keys: a number rates what is focused and leads to the next.
  const scales = () => $$("#rate fieldset.scale");
  const open = (scale) => !$("input:checked", scale) && !$("input[type=number]", scale)?.value;
  const current = () => document.activeElement?.closest("fieldset.scale") ?? scales().find(open) ?? scales()[0];
  const goTo = (scale) => {
    const target = scale ? $("input:checked", scale) ?? $("input", scale) : $("#submit");
    target?.focus({ preventScroll: matchMedia("(max-width: 719px)").matches });
    mark();
  };
  const mark = () => { const at = current(); for (const scale of scales()) scale.classList.toggle("current", scale === at); };
  document.addEventListener("focusin", mark);
  const rate = (key) => {
    const scale = current(), input = scale && $(`input[data-key="${key}"]`, scale);
    if (!input) return;
    input.checked = true;
    changed();
    const all = scales();
    goTo(all.slice(all.indexOf(scale) + 1).find(open) ?? all.find(open));
  };
  document.addEventListener("keydown", (event) => {
    const place = event.target;
    if (event.ctrlKey || event.metaKey || event.altKey) {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) $("#rate")?.requestSubmit($("#submit"));
      return;
    }
    if (place.closest("textarea, input[type=text], input[type=number]")) { if (event.key === "Escape") place.blur(); return; }
    if (event.key === "Enter" && $("#rate") && !place.closest("button, a, summary")) { event.preventDefault(); $("#rate").requestSubmit($("#submit")); return; }
    const keys = {
      u: () => $("#undo")?.requestSubmit(),
      s: () => { const skip = $("#skip"); if (skip) { skip.open = true; $("input[type=text]", skip).focus(); } },
      "?": () => $("#help")?.click(),
    };
    if (/^[0-9]$/.test(event.key)) { event.preventDefault(); rate(event.key); }
    else if (keys[event.key]) { event.preventDefault(); keys[event.key](); }
  });

  const begin = () => {
    page += 1;
    changes = kept = 0;
    if (matchMedia("(max-width: 719px)").matches) for (const fold of $$(".asked-for, .rubric, .shown .fold")) fold.open = false;
    ends();
    const first = scales().find(open);
    if (first) goTo(first); else if ($("#rate")) $("#submit").focus({ preventScroll: true }); else $("main")?.focus({ preventScroll: true });
    document.documentElement.dataset.ready = String(page);
  };
  begin();
});
