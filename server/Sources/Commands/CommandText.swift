package import Base
internal import FoundationEssentials
package import ServerStore

/// The commands that wait for a device, as members of the answer to its upload.
package struct CommandText: Sendable {
    /// With one, a signed list goes beside the plain one: vehicles with `verify_keys` read the signed one alone, and the
    /// others cannot tell by whom it is.
    private let key: SigningKey?
    /// Seconds for which a signed list may be run. It is made anew with each answer.
    private static let lifetime = 86_400.0

    package init(key: SigningKey?) {
        self.key = key
    }

    package var isSigned: Bool { key != nil }

    /// - Parameters:
    ///   - installation: which device may run them, by its own word.
    ///   - counter: of a signed list, greater than any before; without one nothing is signed.
    /// - Returns: `"commands":[…]`, perhaps with `"signed":…,"signature":…`, or nothing when there is nothing to do.
    package func members(
        _ commands: [WaitingCommand], for installation: UUIDv7?, counter: Int64?, now: Timestamp
    )
        -> String
    {
        guard let last = commands.map(\.expires).min() else { return "" }
        let list = Self.list(commands)
        let plain = #""commands":"# + list
        guard let key, let counter, let installation else { return plain }
        let expires = min(last, now.advanced(bySeconds: Self.lifetime).milliseconds)
        let signed =
            #"{"install_id":"\#(installation)","counter":\#(counter),"#
            + #""expires_at":"\#(Timestamp(milliseconds: expires).iso8601)","commands":\#(list)}"#
        guard let signature = key.signature(of: Array(signed.utf8)) else { return plain }
        return plain + #","signed":"\#(Data(signed.utf8).base64EncodedString())","#
            + #""signature":"\#(Data(signature).base64EncodedString())""#
    }

    private static func list(_ commands: [WaitingCommand]) -> String {
        let objects = commands.map { command in
            #"{"id":"\#(command.id)","command":"\#(command.name)","arguments":\#(command.arguments)}"#
        }
        return "[" + objects.joined(separator: ",") + "]"
    }
}
