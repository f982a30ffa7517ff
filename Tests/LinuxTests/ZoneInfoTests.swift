import Glibc
import Support
import Testing

@testable import Linux

@Test(
    "names of zones lead nowhere else",
    arguments: [
        ("Europe/Berlin", true), ("America/Argentina/Buenos_Aires", true), ("Etc/GMT+5", true), ("UTC", true),
        ("GMT-0", true), ("", false), ("/etc/localtime", false), ("../../../etc/shadow", false),
        ("Europe/../Berlin", false), ("Europe//Berlin", false), ("Europe/", false), (".hidden", false),
        ("Europe/Berlin\0", false), ("Europe/Ber lin", false), (":UTC", false),
        (String(repeating: "a", count: 129), false),
    ])
func zoneNames(name: String, isName: Bool) {
    #expect(ZoneInfo.isName(name) == isName)
    guard !isName else { return }
    let error = #expect(throws: SystemError.self) { try ZoneInfo().content(of: name) }
    #expect(error?.code == EINVAL)
}

@Test("a zone's file is read; a misspelt name is an error, and so is what is no file")
func zoneFiles() throws {
    let folder = try TemporaryDirectory()
    let zones = ZoneInfo(folder: folder.path, systemFile: folder.path + "/localtime")
    try #require(mkdir(folder.path + "/Europe", 0o755) == 0)
    let file = try FileDescriptor.open(folder.path + "/Europe/Berlin", O_WRONLY | O_CREAT)
    try file.writeAll(Array("TZif2".utf8))
    #expect(try zones.content(of: "Europe/Berlin") == Array("TZif2".utf8))
    #expect(#expect(throws: SystemError.self) { try zones.content(of: "Europe/Belin") }?.code == ENOENT)
    #expect(#expect(throws: SystemError.self) { try zones.content(of: "Europe") }?.code == EINVAL)
    #expect(try zones.systemContent() == nil)
    try #require(symlink(folder.path + "/Europe/Berlin", folder.path + "/localtime") == 0)
    #expect(try zones.systemContent() == Array("TZif2".utf8))
}
