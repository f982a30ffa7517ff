// What is shown is in the address, behind the #: a link shows the same to whoever may see it.

/** The part of the address that names the screen, and its values. */
export function here() {
    const [path, query = ""] = location.hash.slice(1).split("?");
    return { parts: path.split("/").filter(Boolean).map(decode), values: new URLSearchParams(query) };
}

function decode(text) {
    try {
        return decodeURIComponent(text);
    } catch {
        return text;
    }
}

export function address(parts, values = {}) {
    const query = new URLSearchParams();
    for (const [name, value] of Object.entries(values)) {
        if (value !== undefined && value !== null && value !== "") query.set(name, value);
    }
    // Commas and colons are no danger behind a #, and a link is read by people, too.
    const text = query.toString().replaceAll("%2C", ",").replaceAll("%3A", ":");
    return `#/${parts.map(encodeURIComponent).join("/")}${text ? `?${text}` : ""}`;
}

export const go = (parts, values) => { location.hash = address(parts, values); };

/** Changes values of the address without a new entry in the history. */
export function note(changes) {
    const { parts, values } = here();
    const all = { ...Object.fromEntries(values), ...changes };
    const text = address(parts, all);
    if (text !== location.hash) history.replaceState(null, "", text);
}
