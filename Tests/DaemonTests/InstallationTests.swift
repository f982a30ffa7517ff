import Storage
import Support
import Testing

@testable import Daemon
@testable import Linux

private func signs(_ id: String?, _ serials: [String: String] = [:]) -> Installation.Signs {
    var signs = serials
    signs["machine-id"] = id
    return signs
}

@Test(
    "a machine is the same by one serial number, another one by its id or by all of them; what is missing says nothing",
    arguments: [
        (signs("a"), signs("a"), true), (signs("a"), signs("b"), false),
        (signs(nil), signs("a"), true), (signs("a"), signs(nil), true),
        (signs("a", ["u": "1"]), signs("a", ["u": "2"]), false),
        (signs("a", ["u": "1"]), signs("a"), true), (signs("a"), signs("a", ["u": "1"]), true),
        (signs("a", ["u": "1"]), signs("a", ["b": "2"]), true),
        // A repaired board.
        (signs("a", ["u": "1", "b": "1"]), signs("a", ["u": "1", "b": "2"]), true),
        (signs("a", ["u": "1", "b": "1"]), signs("a", ["u": "2", "b": "2"]), false),
        // A read-only root, moved to other hardware.
        (signs("a", ["u": "1"]), signs(nil, ["u": "2"]), false),
        // The same board under another id: its system was updated or installed anew.
        (signs("a", ["u": "1"]), signs("b", ["u": "1"]), true),
        (signs("a", ["u": "1", "b": "1"]), signs("b", ["u": "1", "b": "2"]), true),
        (signs("a", ["u": "1"]), signs("b", ["u": "2"]), false),
    ])
func machines(known: Installation.Signs, found: Installation.Signs, isSame: Bool) {
    switch Installation.judge(known, found) {
    case .same(let all):
        #expect(isSame)
        for (name, sign) in known where found[name] == nil {
            #expect(all[name] == sign, "known once, known for ever")
        }
        for (name, sign) in found { #expect(all[name] == sign) }
    case .other: #expect(!isSame)
    }
}

@Test(
    "what a maker leaves standing is no serial number",
    arguments: [
        "", "0", " \n", "00000000", "To be filled by O.E.M.", "TO  BE FILLED BY O.E.M.\n", "Default string",
        "None", "n/a",
        "Not Specified", "System Serial Number", "ffffffff-ffff-ffff-ffff-ffffffffffff", "....", "xxxxxxxx",
        "00000000-0000-0000-0000-000000000000", "03000200-0400-0500-0006-000700080009", "123456789",
    ])
func placeholders(text: String) {
    #expect(Installation.serial(in: text) == nil)
}

@Test("a serial number is kept as a digest, whatever its case and the bytes around it")
func serials() throws {
    let digest = try #require(Installation.serial(in: "10000000A1B2c3d4\0"))
    #expect(digest == Installation.serial(in: "10000000a1b2C3D4\n"))
    #expect(digest.count == 64 && !digest.contains("a1b2c3d4"))
    #expect(digest != Installation.serial(in: "10000000a1b2c3d5"))
}

@Test(
    "a machine-id is 32 digits; what is none is not known",
    arguments: [
        ("0123456789abcdef0123456789abcdef\n", true), ("0123456789ABCDEF0123456789abcdef", true), ("", false),
        ("uninitialized\n", false), ("00000000000000000000000000000000\n", false), ("0123", false),
        ("0123456789abcdef0123456789abcdeg", false), ("\0\0\0\0", false),
    ])
func machineIDs(text: String, isOne: Bool) {
    #expect((Installation.machineID(in: text) != nil) == isOne)
}

@Test("the file of an earlier version tells the same machine")
func firstLayout() {
    var identity = StoredIdentity(installID: "", signs: [:])
    identity.signs = nil
    identity.machineID = "0123456789abcdef0123456789abcdef"
    let found = signs(Installation.machineID(in: "0123456789abcdef0123456789abcdef\n"))
    #expect(Installation.judge(Installation.signs(of: identity), found) == .same(found))
    identity.machineID = ""
    #expect(Installation.signs(of: identity).isEmpty)
}

@Test("a mount point is known by the table of mounts")
func mountPoints() {
    let table = """
        25 1 8:1 / / rw,relatime - ext4 /dev/root rw
        31 25 0:27 /machine-id /etc/machine-id ro,nosuid - tmpfs tmpfs rw
        32 25 0:28 / /mnt/with\\040space rw - tmpfs tmpfs rw
        33
        """
    #expect(Installation.fileSystem(of: "/etc/machine-id", table: table) == "tmpfs")
    #expect(Installation.fileSystem(of: "/etc/machine", table: table) == "ext4")
    #expect(Installation.fileSystem(of: "/etc/machine", table: "") == nil)
    #expect(Installation.isMountPoint("/etc/machine-id", table: table))
    #expect(Installation.isMountPoint("/mnt/with space", table: table))
    #expect(!Installation.isMountPoint("/etc/machine", table: table))
    #expect(!Installation.isMountPoint("/etc", table: table))
    #expect(!Installation.isMountPoint("", table: ""))
}
