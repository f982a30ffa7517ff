// Elements from values. Text is always text: nothing here, or anywhere in this page, parses HTML.

/** An element with attributes, listeners (`onclick`), and children: nodes, texts, or nothing. */
export function h(name, attributes = {}, ...children) {
    const element = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) {
        if (value === undefined || value === null || value === false) continue;
        if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
        else if (key === "value" || key === "checked") element[key] = value;
        else element.setAttribute(key, value === true ? "" : String(value));
    }
    element.append(...children.flat(Infinity).filter((child) => child !== undefined && child !== null && child !== false));
    return element;
}

const paths = {
    play: "M7 4v16l13-8z", pause: "M8 5v14M16 5v14", back: "m15 5-7 7 7 7", next: "m9 5 7 7-7 7",
    sun: "M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8M12 2v2M12 20v2M2 12h2M20 12h2M5 5l1.5 1.5M17.5 17.5 19 19M5 19l1.5-1.5M17.5 6.5 19 5",
    moon: "M20 14A8 8 0 1 1 10 4a6.5 6.5 0 0 0 10 10z", auto: "M12 3a9 9 0 1 0 0 18zM12 3a9 9 0 0 1 0 18",
    leave: "M10 4H5v16h5M9 12h11m-4-4 4 4-4 4",
    plus: "M12 5v14M5 12h14", minus: "M5 12h14",
    link: "M10 14a4 4 0 0 0 6 0l3-3a4 4 0 0 0-6-6l-1 1M14 10a4 4 0 0 0-6 0l-3 3a4 4 0 0 0 6 6l1-1",
};

export function icon(name) {
    const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    svg.setAttribute("viewBox", "0 0 24 24");
    svg.setAttribute("aria-hidden", "true");
    const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
    path.setAttribute("d", paths[name]);
    svg.append(path);
    return svg;
}

/** A text is written only when it differs: what has not changed is not laid out again. */
export function setText(element, text) {
    if (element.textContent !== text) element.textContent = text;
}

/** Tells people who do not see the page. */
export function announce(text) {
    document.getElementById("announcer").textContent = text;
}

/** The button that sends a form is not pressed twice; what fails is said where it was tried. */
export function form(attributes, submit, ...children) {
    const trouble = h("p", { class: "notice bad", role: "alert", hidden: true });
    const element = h("form", { ...attributes, novalidate: false }, ...children, trouble);
    element.addEventListener("submit", async (event) => {
        event.preventDefault();
        const button = element.querySelector("button[type=submit]");
        button.disabled = true;
        trouble.hidden = true;
        try {
            await submit(element.elements, element);
        } catch (error) {
            trouble.textContent = error.message;
            trouble.hidden = false;
        } finally {
            button.disabled = false;
        }
    });
    return element;
}

/** Keeps the same nodes for the same keys, in the order of the items. */
export function keyed(parent, items, key, make, update) {
    const old = new Map([...parent.children].map((child) => [child.dataset.key, child]));
    let place = parent.firstElementChild;
    for (const item of items) {
        const name = String(key(item));
        let node = old.get(name);
        if (node) old.delete(name);
        else {
            node = make(item);
            node.dataset.key = name;
        }
        update?.(node, item);
        if (node === place) place = place.nextElementSibling;
        else parent.insertBefore(node, place);
    }
    for (const node of old.values()) node.remove();
}
