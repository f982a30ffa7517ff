// Shows notifications, which some browsers allow to nobody else, and brings the page back when one is clicked. It answers no request.
"use strict";
self.addEventListener("notificationclick", (event) => {
    event.notification.close();
    event.waitUntil(bringBack());
});

async function bringBack() {
    const [page] = await self.clients.matchAll({ type: "window", includeUncontrolled: true });
    if (!page) return self.clients.openWindow("/#/alerts");
    page.postMessage("alerts");
    return page.focus();
}
