internal import Linux
internal import Storage
internal import Tracking

/// What this machine is.
enum Machine {
    /// The maker's name for it, from DMI or the device tree; nil when neither says.
    static func model() -> String? {
        // Not /proc/device-tree, a link to the latter: the service sees nothing of /proc but processes.
        for path in ["/sys/class/dmi/id/product_name", "/sys/firmware/devicetree/base/model"] {
            guard let bytes = try? readFile(path, limit: 4096) else { continue }
            let printable = bytes.filter { $0 >= 0x20 && $0 < 0x7F }
            let text = String(decoding: printable, as: UTF8.self).split(separator: " ").joined(separator: " ")
            if !text.isEmpty { return text }
        }
        return nil
    }

    /// The id of this installation: minted once, and anew when the machine is no longer the one it was minted on.
    static func installID(_ files: SmallFiles, at time: Timestamp) throws(SystemError) -> String {
        let machine = (try? readFile("/etc/machine-id", limit: 4096)).map {
            String(decoding: $0.prefix { $0 > 0x20 }, as: UTF8.self)
        }
        let known = try files.readIdentity()
        if let known, UUIDv7(known.installID) != nil, machine == nil || known.machineID == machine {
            return known.installID
        }
        var random = SystemRandomNumberGenerator()
        var generator = UUIDv7Generator(using: &random)
        let id = generator.next(at: time).description
        try files.write(SmallFiles.Identity(installID: id, machineID: machine ?? ""))
        if let known {
            Log.notice(
                .identity,
                "this is another machine than install_id \(known.installID) was minted on: it is \(id) now")
        }
        return id
    }
}
