// Dialogs: the browser's own, which keep the focus and close by Escape.
import { announce, form, h } from "./dom.js";
import { t } from "./language.js";

function show(title, ...content) {
    const before = document.activeElement;
    const heading = h("h2", { id: "dialog-title" }, title);
    const dialog = h("dialog", { "aria-labelledby": "dialog-title" }, heading, ...content);
    document.body.append(dialog);
    dialog.addEventListener("close", () => {
        dialog.remove();
        before?.focus?.();
    });
    dialog.showModal();
    return dialog;
}

/** Asks before something that cannot be undone; `action` is tried while the dialog is open. */
export function confirm(title, text, word, action) {
    let dialog;
    const cancel = h("button", { type: "button", onclick: () => dialog.close() }, t("Cancel"));
    const body = form({}, async () => {
        await action();
        dialog.close();
    }, h("p", {}, text), h("div", { class: "row" }, cancel, h("button", { type: "submit", class: "danger" }, word)));
    dialog = show(title, body);
    cancel.focus();
}

/** A form in a dialog. */
export function ask(title, fields, word, action) {
    let dialog;
    const body = form({ class: "form column" }, async (elements, element) => {
        await action(elements, element);
        dialog.close();
    }, ...fields, h("div", { class: "row" },
        h("button", { type: "button", onclick: () => dialog.close() }, t("Cancel")),
        h("button", { type: "submit", class: "primary" }, word)));
    dialog = show(title, body);
}

/** Content of its own, with a button that closes it. Returns the dialog. */
export function panel(title, ...content) {
    const dialog = show(title, ...content, h("div", { class: "row" }, h("button", { type: "button", onclick: () => dialog.close() }, t("Close"))));
    return dialog;
}

/** What is shown once: it can be copied and saved, and is gone with the dialog. */
export function secret(title, explanation, text, fileName, warning = t("Anybody who has it can do what its owner can.")) {
    let dialog;
    const copy = h("button", { type: "button", class: "primary", onclick: () => copied(text) }, t("Copy"));
    const save = fileName && h("a", {
        class: "button", download: fileName, href: URL.createObjectURL(new Blob([text], { type: "text/plain" })),
    }, t("Save as a file"));
    dialog = show(title, h("p", { class: "notice warn" }, t("This is shown once.") + " " + warning),
        h("p", {}, explanation), h("pre", { tabindex: "0", "aria-label": t("The secret") }, text),
        h("div", { class: "row" }, save, copy, h("button", { type: "button", onclick: () => dialog.close() }, t("Done"))));
    dialog.addEventListener("close", () => save && URL.revokeObjectURL(save.href));
}

/** Copies, also where there is no TLS and so no clipboard interface. */
export async function copied(text) {
    try {
        await navigator.clipboard.writeText(text);
    } catch {
        const area = h("textarea", { value: text, class: "hidden-text", "aria-hidden": "true" });
        (document.querySelector("dialog") ?? document.body).append(area);
        area.select();
        document.execCommand("copy");
        area.remove();
    }
    announce(t("Copied."));
}
