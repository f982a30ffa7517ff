// A list whose newest elements come while it is looked at, and whose older ones are read when somebody wants them.
import { read } from "./api.js";
import { h, keyed, setText } from "./dom.js";
import * as fleet from "./fleet.js";
import { byName, isDay, rangeOf, stamp } from "./format.js";
import { t } from "./language.js";

const PAGE = 100;
/** Elements that a browser bears; of more, the oldest are let go. */
const MOST = 1000;
/** Milliseconds between two looks: something has been heard of some vehicle nearly always. */
const PAUSE = 5000;
/** What happens without a word of any vehicle, such as its silence, is found by the server twice a minute. */
const ROUND = 30_000;

/**
 * `{element, load, close}`: a table of what `path` lists as `name`. `query()` says what is asked for; `cells(element)` are the
 * contents of the columns that `heads` names.
 */
export function newest({ path, name, caption, heads, query, cells, nothing }) {
    const body = h("tbody"), trouble = h("p", { class: "notice bad", role: "alert", hidden: true }), found = h("p", { class: "soft", "aria-live": "polite" });
    const more = h("button", { type: "button", hidden: true, onclick: () => look(true) }, t("Show older ones"));
    const element = [trouble, h("div", { class: "table cards" }, h("table", {}, h("caption", { class: "hidden-text" }, caption),
        h("thead", {}, h("tr", {}, heads.map((text) => h("th", { scope: "col" }, text)))), body)), found, more];
    let known = new Map(), hasAll = false, isStale = false, last = 0, timer = 0, asking = null, isClosed = false;

    async function look(isOlder) {
        asking?.abort();
        const mine = asking = new AbortController();
        last = Date.now();
        isStale = false;
        const all = query();
        if (isOlder) all.before = [...known.keys()].at(-1);
        try {
            const answer = await read(`${path}?${new URLSearchParams({ ...all, limit: PAGE })}`, { signal: mine.signal });
            if (asking === mine) take(answer[name], isOlder);
        } catch (problem) {
            if (problem.name === "AbortError" || isClosed) return;
            trouble.textContent = problem.message;
            trouble.hidden = false;
        } finally {
            if (asking === mine) asking = null;
        }
    }

    function take(elements, isOlder) {
        trouble.hidden = true;
        const old = [...known.values()];
        if (isOlder) {
            hasAll = elements.length < PAGE;
            known = byCursor([...old, ...elements].slice(0, MOST));
        } else {
            const end = elements.length === PAGE ? elements.at(-1).cursor : null;
            // Those of the page are as they are now; older ones are as they were.
            const place = end === null ? old.length : old.findIndex(({ cursor }) => cursor === end) + 1;
            if (end === null || !old.length || !place) hasAll = end === null;
            known = byCursor([...elements, ...(end !== null && place ? old.slice(place) : [])].slice(0, MOST));
        }
        show();
    }

    const byCursor = (elements) => new Map(elements.map((one) => [one.cursor, one]));

    function show() {
        keyed(body, known.values(), ({ cursor }) => cursor, () => h("tr", {}, heads.map((text, index) => h(index ? "td" : "th", {
            scope: index ? null : "row", class: index ? null : "nowrap",
        }))), (row, one) => {
            cells(one).forEach((content, index) => {
                const cell = row.children[index];
                if (typeof content === "string") setText(cell, content);
                else if (cell.textContent !== content.textContent) cell.replaceChildren(content);
            });
        });
        setText(found, known.size ? "" : nothing);
        more.hidden = hasAll || !known.size || known.size >= MOST;
    }

    function load() {
        known = new Map();
        hasAll = false;
        setText(found, t("Loading…"));
        body.replaceChildren();
        look(false);
    }

    function again() {
        clearTimeout(timer);
        // What is being read is not read twice.
        timer = setTimeout(() => {
            if (isStale && !asking && !document.hidden) look(false);
            again();
        }, PAUSE);
        if (Date.now() - last > ROUND) isStale = true;
    }

    const end = fleet.follow(() => { isStale = true; });
    again();
    return {
        element, load,
        close() {
            isClosed = true;
            clearTimeout(timer);
            asking?.abort();
            end();
        },
    };
}

/** What a list can be filtered by, and what the address has of it. */
export const chosenIn = (values, ...more) => Object.fromEntries(["kind", "group", "device", "from", "to", ...more].map((name) => [name, values.get(name) ?? ""]));

/** What is asked for, of what was chosen: days from their first moment to their last one. */
export function queryOf(chosen) {
    const query = Object.fromEntries(Object.entries(chosen).filter(([, value]) => value));
    if (isDay(query.from)) query.from = stamp(rangeOf(query.from)[0]);
    else delete query.from;
    // To the millisecond, where a stamp has seconds.
    if (isDay(query.to)) query.to = new Date(rangeOf(query.to)[1]).toISOString();
    else delete query.to;
    return query;
}

/** Selects of a kind, a group, a vehicle, and of `more` (`{name, label, options}`), and two days, which change `values`; `changed(name)` is
    called afterwards. */
export function filters(values, kinds, changed, more = []) {
    const vehicles = [...fleet.vehicles.values()], groups = [...new Set(vehicles.map(({ group }) => group).filter(Boolean))].sort();
    const onchange = (name) => (event) => { values[name] = event.target.value; changed(name); };
    const select = (name, label, options) => h("label", { class: "field" }, label, h("select", { onchange: onchange(name) },
        [["", t("all")], ...options].map(([value, text]) => h("option", { value, selected: String(value) === values[name] }, text))));
    const day = (name, label) => h("label", { class: "field" }, label, h("input", { type: "date", value: isDay(values[name]) ? values[name] : "", onchange: onchange(name) }));
    return h("div", { class: "row" }, select("kind", t("Kind"), Object.entries(kinds)),
        groups.length ? select("group", t("Group"), groups.map((name) => [name, name])) : "",
        select("device", t("Vehicle"), vehicles.sort(byName).map(({ id, name }) => [id, name])),
        more.map(({ name, label, options }) => select(name, label, options)), day("from", t("From")), day("to", t("To")));
}
