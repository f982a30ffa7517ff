internal import Base
internal import Envelope
internal import Fences
internal import FoundationEssentials
internal import HTTPTypes
internal import NIOCore
internal import Tracking

/// Fences as JSON.
enum FenceText {
    /// Bytes of a body: a polygon of 500 corners, and as many vehicles as a fence can name.
    static let limit = 128 << 10

    private struct Body: Decodable {
        var name: String
        var all: Bool?
        var groups: [String]?
        var devices: [Int64]?
    }

    /// - Throws: a problem that names the member which is wrong.
    static func draft(_ body: ByteBuffer) throws(Problem) -> FenceDraft {
        let data = Data(body.readableBytesView)
        let (members, shape): (Body, FenceShape)
        do {
            members = try JSONDecoder().decode(Body.self, from: data)
            shape = try JSONDecoder().decode(FenceShape.self, from: data).rounded
        } catch {
            throw problem(error)
        }
        do throws(Geofence.Invalid) {
            _ = try shape.geofence(members.name)
        } catch {
            throw Problem(.badRequest, "This is no fence: \(error.reason).")
        }
        let draft = FenceDraft(
            name: members.name, shape: shape, isForEverybody: members.all ?? false,
            groups: members.groups ?? [], devices: members.devices ?? [])
        guard !draft.isForEverybody || (draft.groups.isEmpty && draft.devices.isEmpty) else {
            throw Problem(field: "all", "a fence for all vehicles names no groups and no devices")
        }
        guard draft.groups.count + draft.devices.count <= Fences.mostTargets else {
            throw Problem(
                field: "devices",
                "a fence can name \(Fences.mostTargets) groups and devices; make a group of them")
        }
        return draft
    }

    private static func problem(_ error: any Error) -> Problem {
        switch error as? DecodingError {
        case .typeMismatch(_, let context)?, .valueNotFound(_, let context)?:
            Problem(field: pointer(context.codingPath), "this is of another type than it has to be")
        case .keyNotFound(let key, let context)?:
            Problem(field: pointer(context.codingPath + [key]), "this is missing")
        default: Problem(.badRequest, "The body is no JSON object.")
        }
    }

    private static func pointer(_ path: [any CodingKey]) -> String {
        path.map { $0.intValue.map { String($0) } ?? $0.stringValue }.joined(separator: "/")
    }

    static func object(_ fence: FenceEntry) -> [UInt8] {
        var text = Array(#"{"id":\#(fence.number),"name":"#.utf8)
        JSONString.append(fence.name, to: &text)
        text += ",\(fence.shape.members)".utf8
        if fence.targets.isEverybody { text += #","all":true"#.utf8 }
        if !fence.targets.groups.isEmpty {
            text += #","groups":["#.utf8
            for (index, name) in fence.targets.groups.values.sorted().enumerated() {
                if index > 0 { text.append(UInt8(ascii: ",")) }
                JSONString.append(name, to: &text)
            }
            text.append(UInt8(ascii: "]"))
        }
        if !fence.targets.devices.isEmpty {
            let list = fence.targets.devices.sorted().map { String($0) }.joined(separator: ",")
            text += #","devices":[\#(list)]"#.utf8
        }
        text +=
            #","created":"\#(fence.created.iso8601)","changed":"\#(fence.changed.iso8601)","author":"#.utf8
        JSONString.append(fence.author, to: &text)
        return text + [UInt8(ascii: "}")]
    }

    /// Whether a vehicle has a fence, with the number of one of the two.
    static func object(named name: String, _ number: Int64, _ state: FenceState) -> [UInt8] {
        var text = Array(#"{"\#(name)":\#(number),"state":"\#(state.standing.rawValue)""#.utf8)
        if let reason = state.reason {
            text += #","reason":"#.utf8
            JSONString.append(reason, to: &text)
        }
        return text + [UInt8(ascii: "}")]
    }
}
