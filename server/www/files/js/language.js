// The language of the page: the browser's where the page speaks it, else English, until another is chosen.
//
// English texts stand in the code, as whole sentences with {names} for what differs; they are the keys of the tables of other
// languages, `texts/CODE.js`. Those lie outside of js, from which the browser fetches everything at once: one is loaded only where
// its language is wanted. What a table does not have stays English.
import { h } from "./dom.js";

/** By code, as each calls itself. */
const languages = { en: "English", de: "Deutsch" };
const KEY = "beekon-language";

const codeOf = (tag) => tag.split("-")[0].toLowerCase();
const chosen = stored();
const spoken = navigator.languages.find((tag) => Object.hasOwn(languages, codeOf(tag)));
const wanted = chosen ?? codeOf(spoken ?? "en");
const table = await load(wanted);

/** The language of the texts, as a code. */
export const language = table ? wanted : "en";
document.documentElement.lang = language;

/** For numbers, dates and names: the language, as it is written in the browser's country. Where the page does not speak the
    browser's language, and none was chosen, these are the browser's nevertheless. */
export const locale = usable((chosen || spoken) && codeOf(navigator.language) !== language ? `${language}-${country()}` : navigator.language)
    ?? language;

const whole = new Intl.NumberFormat(locale, { maximumFractionDigits: 0 });
const rules = { own: new Intl.PluralRules(language), english: new Intl.PluralRules("en") };

/** A whole number, as people read it. */
export const count = (number) => whole.format(number);

const entry = (text, type = "string") => (table && Object.hasOwn(table, text) && typeof table[text] === type ? table[text] : undefined);
const filled = (text, values) => text.replaceAll(/\{(\w+)\}/g, (all, name) => (Object.hasOwn(values, name) ? values[name] : all));

/** A text, with values in place of their names. */
export const t = (text, values = {}) => filled(entry(text) ?? text, values);

/** A text that depends on a number, `{count}` in it. Its key is the second form. */
export function plural(number, one, other, values = {}) {
    const forms = entry(other, "object");
    const text = forms?.[rules.own.select(number)] ?? forms?.other ?? { one, other }[rules.english.select(number)];
    return filled(text, { count: count(number), ...values });
}

/** A text as children of an element: what stands in place of a name may be an element. */
export const sentence = (text, values) => (entry(text) ?? text).split(/\{(\w+)\}/).map((part, index) => (index % 2 ? values[part] : part));

/** What the server says, where the table has that sentence. */
export const ofServer = (text) => entry(text) ?? text;

/** Where another is chosen; the page begins anew with it, at the view that its address has. */
export const languageChoice = () => h("select", {
    class: "plain", "aria-label": t("Language"), title: t("Language"), onchange: ({ target }) => {
        try {
            localStorage.setItem(KEY, target.value);
        } catch {
            // Without storage the browser's language has to do.
        }
        location.reload();
    },
}, Object.entries(languages).map(([code, name]) => h("option", { value: code, title: name, selected: code === language }, code.toUpperCase())));

function stored() {
    try {
        const found = localStorage.getItem(KEY);
        return Object.hasOwn(languages, found ?? "") ? found : undefined;
    } catch {
        return undefined;
    }
}

/** The country of the browser's language, as two letters; undefined where it cannot be told. */
export function country() {
    try {
        return new Intl.Locale(navigator.language).maximize().region;
    } catch {
        return undefined;
    }
}

/** A browser may call its language as no standard does. */
function usable(tag) {
    try {
        return Intl.getCanonicalLocales(tag)[0];
    } catch {
        return undefined;
    }
}

/** Nothing for English, and where it cannot be had. */
async function load(code) {
    if (code === "en") return undefined;
    try {
        return (await import(`../texts/${code}.js`)).default;
    } catch {
        return undefined;
    }
}
