// Which day, or any other stretch of up to a month.
import { h, icon } from "../dom.js";
import * as fleet from "../fleet.js";
import { dayOf, rangeOf, zone } from "../format.js";
import { t } from "../language.js";

const LONGEST = 31 * 86_400_000;

export function dayBar(chosen) {
    const field = h("input", { type: "date", "aria-label": t("Day"), onchange: () => field.value && chosen(...rangeOf(field.value)) });
    const step = (days, label, name) => h("button", {
        type: "button", "aria-label": label, title: label, onclick: () => {
            const [year, month, date] = field.value.split("-").map(Number);
            chosen(...rangeOf(dayOf(new Date(year, month - 1, date + days, 12))));
        },
    }, icon(name));
    const first = h("input", { type: "datetime-local", name: "from", "aria-label": t("From"), step: 1 });
    const last = h("input", { type: "datetime-local", name: "to", "aria-label": t("To"), step: 1 });
    const complaint = h("span", { class: "soft", role: "alert" });
    const details = h("details", {}, h("summary", {}, t("Other dates")), h("div", { class: "days" }, first, last, h("button", {
        type: "button", onclick: () => {
            const [from, to] = [first, last].map((input) => new Date(input.value).getTime());
            const isGood = from < to && to - from <= LONGEST;
            complaint.textContent = isGood ? "" : t("“From” must be before “to”, by a month at most.");
            if (isGood) chosen(from, to);
        },
    }, t("Show")), complaint));
    const local = (time) => new Date(time - new Date(time).getTimezoneOffset() * 60_000).toISOString().slice(0, 19);
    return {
        element: h("div", {}, h("div", { class: "days" }, step(-1, t("The day before"), "back"), field, step(1, t("The day after"), "next"),
            h("button", { type: "button", onclick: () => chosen(...rangeOf(dayOf(fleet.now()))) }, t("Today"))), details,
        h("p", { class: "soft" }, t("Times are those of {zone}.", { zone }))),
        show(from, to) {
            field.value = dayOf(from);
            first.value = local(from);
            last.value = local(to);
            const [begin, end] = rangeOf(field.value);
            // To the second: a link has no more.
            if (Math.abs(from - begin) > 1000 || Math.abs(to - end) > 1000) details.open = true;
        },
    };
}
