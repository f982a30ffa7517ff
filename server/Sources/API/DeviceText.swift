internal import Accounts
internal import Base
internal import Envelope
internal import EnvelopeReader
internal import ServerStore

/// Devices as JSON.
enum DeviceText {
    /// A device that has just been made, with its tokens.
    ///
    /// - Parameters:
    ///   - rights: what the server asks to be allowed.
    ///   - key: PEM, what it may check commands with; nil: nothing is said of it.
    static func new(
        _ device: DeviceEntry, _ pair: TokenPair, rights: CommandRights, key: String? = nil
    ) -> [UInt8] {
        var text = Array(#"{"id":\#(device.id),"name":"#.utf8)
        JSONString.append(device.name, to: &text)
        text += Array(
            (#","access_token":"\#(pair.access.text)","expires_at":"\#(pair.expires.iso8601)","#
                + #""refresh_token":"\#(pair.refresh.text)","heartbeat_seconds":"#
                + "\(VehicleConfiguration.heartbeat)" + members(of: rights)).utf8)
        if let key {
            text += #","verify_key":"#.utf8
            JSONString.append(key, to: &text)
        }
        text += "}\n".utf8
        return text
    }

    /// `,"commands":{…}`, or nothing where nothing is asked for.
    static func members(of rights: CommandRights) -> String {
        // Names of commands and of settings need no escapes.
        let lists = [("allow", rights.allow), ("settings", rights.settings)].compactMap { name, names in
            names.map { "\"\(name)\":[" + $0.map { "\"\($0)\"" }.joined(separator: ",") + "]" }
        }
        return lists.isEmpty ? "" : #","commands":{"# + lists.joined(separator: ",") + "}"
    }

    /// A JSON object of a vehicle, on one line: it was checked, so that a line break in it is space.
    static func line(_ object: String) -> [UInt8] {
        object.utf8.map { $0 == 0x0A || $0 == 0x0D ? 0x20 : $0 }
    }

    static func object(_ device: DeviceState) -> [UInt8] {
        var text: [UInt8] = []
        append(device, to: &text)
        return text
    }

    static func append(_ device: DeviceState, to text: inout [UInt8]) {
        text += #"{"id":\#(device.id),"name":"#.utf8
        JSONString.append(device.name, to: &text)
        for (name, time) in [
            ("created", device.created as Timestamp?), ("revoked", device.revoked), ("seen", device.seen),
            ("token_shown_again", device.tokenShownAgain),
        ] {
            if let time { text += #","\#(name)":"\#(time.iso8601)""#.utf8 }
        }
        for (name, value) in [("plate", device.plate), ("note", device.note), ("group", device.group?.name)] {
            guard let value else { continue }
            text += #","\#(name)":"#.utf8
            JSONString.append(value, to: &text)
        }
        if let id = device.otherInstallation { text += #","other_installation":"\#(id)""#.utf8 }
        if let facts = device.facts {
            if let id = facts.installID { text += #","install_id":"\#(id)""#.utf8 }
            for (name, value) in [
                ("platform", facts.platform as String?), ("sdk_version", facts.version),
                ("model", facts.model),
            ] {
                guard let value else { continue }
                text += #","\#(name)":"#.utf8
                JSONString.append(value, to: &text)
            }
        }
        if let status = device.status {
            text += #","status_received":"\#(status.received.iso8601)","status":"#.utf8
            text += line(status.object)
        }
        if let latest = device.latest {
            text += #","latest":{"#.utf8
            LocationText.members(latest, to: &text)
            text += #","latitude":\#(LocationText.number(latest.latitude))"#.utf8
            text += #","longitude":\#(LocationText.number(latest.longitude))}"#.utf8
        }
        text.append(UInt8(ascii: "}"))
    }
}
