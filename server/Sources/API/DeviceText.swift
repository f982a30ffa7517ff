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
        text += #"{"id":"#.utf8
        text += String(device.id).utf8
        text.member("name", string: device.name)
        text.member("created", time: device.created)
        text.member("revoked", time: device.revoked)
        text.member("seen", time: device.seen)
        text.member("token_shown_again", time: device.tokenShownAgain)
        text.member("plate", string: device.plate)
        text.member("note", string: device.note)
        text.member("group", string: device.group?.name)
        text.member("other_installation", string: device.otherInstallation?.description)
        if let facts = device.facts {
            text.member("install_id", string: facts.installID?.description)
            text.member("platform", string: facts.platform)
            text.member("sdk_version", string: facts.version)
            text.member("model", string: facts.model)
        }
        if let status = device.status {
            text.member("status_received", time: status.received)
            text.member("status", json: line(status.object))
        }
        if let latest = device.latest {
            text += #","latest":{"#.utf8
            LocationText.members(latest, to: &text)
            text.member("latitude", number: latest.latitude)
            text.member("longitude", number: latest.longitude)
            text.append(UInt8(ascii: "}"))
        }
        text.append(UInt8(ascii: "}"))
    }
}
