internal import Base
internal import Envelope
import Glibc
internal import Linux
internal import Tracking

/// What texts may be. A rule returns what is wrong and what to do, never the text itself, or nil.
enum Rules {
    /// Headers that the uploader writes itself, or that would break its request.
    private static let reserved: [String: String] = [
        "content-type": "the format decides it",
        "content-encoding": "it follows from the format",
        "content-length": "it follows from the body",
        "transfer-encoding": "it follows from the body",
        "host": "it follows from the URL",
        "idempotency-key": "it is the id of each batch",
        "connection": "beekond manages its connection",
        "expect": "beekond manages its connection",
        "user-agent": "it names beekond and its version",
    ]

    static func host(_ text: String) -> String? {
        guard !text.isEmpty, text.utf8.count <= 255, text.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
        else {
            return "not a host; write a name or an address, such as \"127.0.0.1\""
        }
        return nil
    }

    static func device(_ text: String) -> String? {
        guard text.utf8.count <= 255, text.isOneLine else {
            return "not a device; write its path as gpsd names it, at most 255 bytes, or \"\""
        }
        return nil
    }

    static func window(_ text: String) -> String? {
        guard (1...80).contains(text.utf8.count), text.isOneLine else {
            return "not a window; write days and times, such as \"mon-fri 07:00-18:30\""
        }
        do {
            _ = try TrackingSchedule([text])
            return nil
        } catch {
            return "column \(error.column): \(error.advice)"
        }
    }

    /// libc reads a name that is misspelt as UTC, without a word.
    static func timeZone(_ text: String) -> String? {
        if text.isEmpty { return nil }
        do {
            _ = try TimeZoneRules(tzif: ZoneInfo().content(of: text))
            return nil
        } catch {
            return
                "not a time zone here (\(error)); write a name of /usr/share/zoneinfo, such as \"Europe/Berlin\", or \"\" for the "
                + "system's"
        }
    }

    /// A name in `/sys/class/power_supply`: it becomes part of a path.
    static func supply(_ text: String) -> String? {
        guard text.utf8.count <= 64, text.utf8.allSatisfy({ (0x21...0x7E).contains($0) && $0 != 0x2F }),
            !text.hasPrefix(".")
        else {
            return "not a power supply; write its name in /sys/class/power_supply, such as \"ACAD\", or \"\""
        }
        return nil
    }

    /// A path below `/dev` without a detour.
    static func gpioChip(_ text: String) -> String? {
        if text.isEmpty { return nil }
        let names = text.split(separator: "/", omittingEmptySubsequences: false).dropFirst()
        guard text.hasPrefix("/dev/"), text.utf8.count <= 255, text.isOneLine,
            names.allSatisfy({ !$0.isEmpty && $0 != "." && $0 != ".." })
        else {
            return "not a GPIO chip; write its path below /dev, such as \"/dev/gpiochip0\", or \"\""
        }
        return nil
    }

    static func platform(_ text: String) -> String? {
        guard !text.isEmpty, text.utf8.count <= 64, text.isOneLine else {
            return "must be 1 to 64 bytes without control characters, such as \"linux\""
        }
        return nil
    }

    static func path(_ text: String) -> String? {
        let names = text.split(separator: ".", omittingEmptySubsequences: false)
        guard text.utf8.count <= 255, text.isOneLine, names.allSatisfy({ !$0.isEmpty }) else {
            return "not a dot path; write names with dots between them, such as \"data.token\""
        }
        return nil
    }

    static func acceptedValue(_ text: String) -> String? {
        text.utf8.count <= 255 && text.isOneLine ? nil : "must be one line of at most 255 bytes"
    }

    static func token(_ text: String) -> String? {
        guard !text.isEmpty, text.utf8.count <= SecretFile.maxBytes, text.isOneLine else {
            return "must be one line of 1 to \(SecretFile.maxBytes) bytes without control characters"
        }
        return nil
    }

    static func readableFile(_ text: String) -> String? {
        guard text.hasPrefix("/"), text.isOneLine else { return "must be an absolute path, beginning with /" }
        var status = stat()
        guard stat(text, &status) == 0 else { return "cannot be used: \(String(cString: strerror(errno)))" }
        guard status.st_mode & S_IFMT == S_IFREG else { return "is not a file; name the PEM file itself" }
        guard access(text, R_OK) == 0 else {
            return "cannot be read by the user beekond runs as; give its group read permission"
        }
        return nil
    }

    static func header(_ name: String, _ value: String) -> String? {
        guard !name.isEmpty, name.utf8.count <= 128, name.utf8.allSatisfy(isTokenByte) else {
            return "not a header name; letters, digits and - are safe"
        }
        if let reason = reserved[name.lowercased()] { return "cannot be set: \(reason); remove this line" }
        guard value.utf8.count <= 8192, value.isOneLine else {
            return "a header value must be one line of at most 8192 bytes without control characters"
        }
        return nil
    }

    /// Checks a header of an upload. A type of the body is some formats' to have: ``SettingsBuilder`` looks
    /// at that.
    static func uploadHeader(_ name: String, _ value: String) -> String? {
        guard name.lowercased() == contentType else { return header(name, value) }
        guard (1...typeLimit).contains(value.utf8.count),
            value.utf8.allSatisfy({ (0x20...0x7E).contains($0) })
        else {
            return
                "not a media type; write one such as \"text/plain; charset=utf-8\", in at most \(typeLimit) bytes"
        }
        return nil
    }

    /// In lower case.
    static let contentType = "content-type"
    /// Why most uploads have none of their own.
    static let typeReserved = "cannot be set: the format decides it; remove this line"
    private static let typeLimit = 200

    static func payload(_ name: String, _ value: String) -> String? {
        guard !name.isEmpty, name.utf8.count <= 128, name.isOneLine else {
            return "not a field name; 1 to 128 bytes without control characters"
        }
        return value.utf8.count <= SecretFile.maxBytes ? nil : "must be at most \(SecretFile.maxBytes) bytes"
    }

    static func extra(_ name: String, _ value: String) -> String? {
        guard !name.isEmpty, name.utf8.count <= 100 else { return "the name must have 1 to 100 bytes" }
        return value.utf8.count <= 1024 ? nil : "the text must have at most 1024 bytes"
    }

    /// How a server knows a vehicle or a user: it goes into topics and headers.
    static func identifier(_ text: String) -> String? {
        guard (1...64).contains(text.utf8.count), text.utf8.allSatisfy({ isWordByte($0) || $0 == 46 }) else {
            return "must be 1 to 64 of A-Z, a-z, 0-9, ., _ and -"
        }
        return nil
    }

    /// A pattern of names of network interfaces, which have at most 15 bytes.
    static func interface(_ text: String) -> String? {
        guard (1...32).contains(text.utf8.count),
            text.utf8.allSatisfy({ isWordByte($0) || ".:@*?".utf8.contains($0) })
        else {
            return
                "is not the name of an interface; write one as ip link shows it, such as \"wwan0\" or \"ppp*\""
        }
        return nil
    }

    static func rootProperty(_ text: String) -> String? {
        BodyFields.complaint(aboutName: text).map { $0 + ", such as \"location\", or be \".\"" }
    }

    static func parameter(_ name: String, _ value: String) -> String? {
        BodyFields.complaint(about: name, .text(value))
    }

    static func locationTemplate(_ text: String) -> String? { template(text, .location) }

    static func geofenceTemplate(_ text: String) -> String? { template(text, .geofence) }

    /// What may be a line is looked at where it is known whether there are to be lines.
    private static func template(_ text: String, _ kind: Template.Kind) -> String? {
        isLineLike(text) ? nil : complaint(about: text, kind, .json)
    }

    private static func isLineLike(_ text: String) -> Bool {
        text.utf8.first.map { isWordByte($0) } == true && text.contains("=")
    }

    /// Why a text is no template; nil when it is one.
    static func complaint(about text: String, _ kind: Template.Kind, _ body: TemplateBody) -> String? {
        do throws(TemplateFault) {
            _ = try Template(text, for: kind, as: body)
            return nil
        } catch {
            return
                "line \(error.line), column \(error.column) of the template: \(error.reason); \(error.advice)"
        }
    }

    static func sharedAuth(_ text: String) -> String? {
        text == Settings.Destination.main
            ? nil
            : "only the tokens of \"main\" can be used elsewhere; or write a table with tokens of its own"
    }

    private static func isWordByte(_ byte: UInt8) -> Bool {
        (65...90).contains(byte) || (97...122).contains(byte) || (48...57).contains(byte) || byte == 45
            || byte == 95
    }

    private static func isTokenByte(_ byte: UInt8) -> Bool {
        let isLetter = (65...90).contains(byte) || (97...122).contains(byte)
        return isLetter || (48...57).contains(byte) || "!#$%&'*+-.^_`|~".utf8.contains(byte)
    }
}
