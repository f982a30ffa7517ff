internal import Glibc
internal import Linux

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

    /// What identifies the machine, as far as it can be read today: digests, because nobody else needs the values.
    ///
    /// - Parameter root: replaces /; tests have machines of their own.
    static func signs(root: String) -> Installation.Signs {
        var signs = Installation.Signs()
        let path = root + "/etc/machine-id"
        if !isMountPoint(path) {
            signs[Installation.machineID] = text(path).flatMap(Installation.machineID(in:))
        }
        for (name, file) in serials {
            signs[name] = text(root + file).flatMap { Installation.serial(in: $0) }
        }
        return signs
    }

    /// On most PCs only root can read the first three.
    private static let serials = [
        ("product_uuid", "/sys/class/dmi/id/product_uuid"),
        ("product_serial", "/sys/class/dmi/id/product_serial"),
        ("board_serial", "/sys/class/dmi/id/board_serial"),
        ("serial-number", "/sys/firmware/devicetree/base/serial-number"),
    ]

    private static func text(_ path: String) -> String? {
        (try? readFile(path, limit: 4096)).map { String(decoding: $0, as: UTF8.self) }
    }

    /// systemd mounts a file over /etc/machine-id when it cannot write there: that id lasts until the next boot.
    private static func isMountPoint(_ path: String) -> Bool {
        guard let resolved = realpath(path, nil) else { return false }
        defer { free(resolved) }
        let table = (try? readFile("/proc/self/mountinfo", limit: 1 << 20)).map {
            String(decoding: $0, as: UTF8.self)
        }
        return Installation.isMountPoint(String(cString: resolved), table: table ?? "")
    }
}
