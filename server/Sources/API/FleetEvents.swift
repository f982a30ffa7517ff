internal import Base
internal import Envelope
internal import Hummingbird
internal import NIOCore
internal import ServerStore

extension Reader {
    /// Elements that are read at once, each of some kilobytes.
    private static let elementsAtOnce = 32
    /// How often is looked for more before another may read.
    private static let looksForEvents = 10

    /// How far a list has come.
    private struct Progress {
        var place: Reading.Place?
        var left: Int
        var count = 0
    }

    /// `GET /v1/events`: those of all vehicles that the viewer sees, the newest first.
    func events(for viewer: Viewer, _ query: FleetQuery) async throws -> Response {
        try await lists.answer(
            "application/json", from: Progress(place: query.place, left: query.limit),
            head: Array(#"{"events":["#.utf8), tail: Array("]}\n".utf8), mayLag: true
        ) { progress, piece, session throws(StoreError) in
            for _ in 0..<Self.looksForEvents {
                guard progress.left > 0 else { return true }
                let (events, next) = try Reading.fleetEvents(
                    for: viewer, query.selection, before: progress.place,
                    limit: min(progress.left, Self.elementsAtOnce), from: session)
                for event in events {
                    let text = FleetText.element(event, isFirst: progress.count == 0)
                    guard try piece.add(text) else { return false }
                    progress.place = Reading.Place(time: event.event.time, id: event.event.id)
                    progress.left -= 1
                    progress.count += 1
                }
                guard let next else { return true }
                progress.place = next
            }
            return false
        }
    }

    /// `GET /v1/alerts`: those of all vehicles that the viewer sees, the newest first.
    ///
    /// - Parameter hasReasons: with what the other side said last, which may name the address of a rule.
    func alerts(for viewer: Viewer, hasReasons: Bool, _ query: FleetQuery) async throws -> Response {
        try await lists.answer(
            "application/json", from: Progress(place: query.place, left: query.limit),
            head: Array(#"{"alerts":["#.utf8), tail: Array("]}\n".utf8), mayLag: true
        ) { progress, piece, session throws(StoreError) in
            for _ in 0..<Self.looksForEvents {
                guard progress.left > 0 else { return true }
                let (alerts, next) = try Reading.alerts(
                    for: viewer, query.selection, rule: query.rule, before: progress.place,
                    limit: min(progress.left, Self.elementsAtOnce), from: session)
                for alert in alerts {
                    let text = FleetText.element(alert, hasReason: hasReasons, isFirst: progress.count == 0)
                    guard try piece.add(text) else { return false }
                    progress.place = Reading.Place(time: alert.created, id: alert.alert.id)
                    progress.left -= 1
                    progress.count += 1
                }
                guard let next else { return true }
                progress.place = next
            }
            return false
        }
    }
}

/// Events and alerts of the fleet as JSON.
enum FleetText {
    private static func begin(_ isFirst: Bool) -> [UInt8] { Array((isFirst ? "\n" : ",\n").utf8) }

    static func element(_ event: FleetEvent, isFirst: Bool) -> [UInt8] {
        var text = begin(isFirst)
        let cursor = FleetQuery.cursor(event.event.time, event.event.id)
        text += #"{"cursor":"\#(cursor)","device":\#(event.device),"name":"#.utf8
        JSONString.append(event.name, to: &text)
        text += #","event":"#.utf8
        EventText.append(event.event, to: &text)
        text.append(UInt8(ascii: "}"))
        return text
    }

    static func element(_ stored: StoredAlert, hasReason: Bool, isFirst: Bool) -> [UInt8] {
        var text = begin(isFirst)
        let alert = stored.alert
        text += #"{"cursor":"\#(FleetQuery.cursor(stored.created, alert.id))","id":"\#(alert.id)","#.utf8
        text += #""rule":{"id":\#(alert.rule)"#.utf8
        if let rule = stored.rule {
            text += #","name":"#.utf8
            JSONString.append(rule, to: &text)
        }
        text += #"},"device":\#(alert.device),"name":"#.utf8
        JSONString.append(stored.device, to: &text)
        text +=
            #","kind":"\#(alert.kind)","timestamp":"\#(alert.time.iso8601)","found":"\#(stored.created.iso8601)","text":"#
            .utf8
        JSONString.append(alert.text, to: &text)
        if let webhook = stored.webhook { text += #","webhook":"\#(webhook.rawValue)""#.utf8 }
        if let mail = stored.mail { text += #","mail":"\#(mail.rawValue)""#.utf8 }
        if hasReason, let reason = stored.reason {
            text += #","reason":"#.utf8
            JSONString.append(reason, to: &text)
        }
        text += #","data":"#.utf8
        text += DeviceText.line(alert.object)
        text.append(UInt8(ascii: "}"))
        return text
    }
}
