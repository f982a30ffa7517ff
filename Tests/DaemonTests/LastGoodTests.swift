import DaemonConfiguration
import Glibc
import Linux
import Support
import Testing

@testable import Daemon

@Suite("the last good configuration")
struct LastGoodTests {
    private let directory: TemporaryDirectory
    private let lastGood: LastGoodConfiguration
    private var options: Daemon.Options

    init() throws {
        directory = try TemporaryDirectory()
        for name in ["etc", "etc/beekond.d", "state"] { mkdir(directory.file(name), 0o700) }
        lastGood = LastGoodConfiguration(try StateDirectory(directory.file("state")))
        options = Daemon.Options { _ in nil }
        options.configuration = directory.file("etc/beekond.toml")
    }

    private func write(_ text: String, to name: String = "beekond.toml") throws {
        try directory.write("etc/" + name, Array(text.utf8))
    }

    private var interval: Double? {
        lastGood.load(options)?.loaded(with: [:]).loaded.settings.tracking.intervalSeconds
    }

    @Test("there is none before the first good start")
    func none() {
        #expect(interval == nil)
    }

    @Test("it stays as it was, whatever becomes of the file")
    func stays() throws {
        try write("[tracking]\ninterval_seconds = 11\n")
        lastGood.keep(options)
        try write("[tracking\n")
        #expect(interval == 11)
        unlink(directory.file("etc/beekond.toml"))
        #expect(interval == 11)
        try write("[tracking]\ninterval_seconds = 12\n")
        lastGood.keep(options)
        #expect(interval == 12)
    }

    @Test("it holds no tokens, and gives none")
    func tokens() throws {
        let text =
            "[sync]\nurl = \"https://a.b\"\n[sync.auth]\naccess_token = \"hunter2\"\nskew_margin_seconds = 7\n"
        try write(text)
        try write("[sync.auth]\nrefresh_token = \"hunter3\"\n", to: "beekond.d/10-a.toml")
        lastGood.keep(options)
        for name in ["state/last-good.toml", "state/last-good.d/10-a.toml"] {
            let copy = String(decoding: try readFile(directory.file(name), limit: 1 << 20), as: UTF8.self)
            #expect(!copy.contains("hunter"), "\(name)")
        }
        let auth = try #require(lastGood.load(options)?.loaded(with: [:]).loaded.settings.sync?.auth)
        #expect(auth.accessToken == nil && auth.refreshToken == nil && auth.skewMarginSeconds == 7)
    }

    @Test("destinations belong to it, without their tokens")
    func destinations() throws {
        try write(
            """
            [destination.a]
            url = "https://a.example/"
            auth.refresh_token = "hunter2"
            [destination.b]
            url = "https://b.example/"
            [destination.b.auth]
            refresh_token = "hunter3"
            """)
        lastGood.keep(options)
        let copy = String(
            decoding: try readFile(directory.file("state/last-good.toml"), limit: 1 << 20), as: UTF8.self)
        #expect(!copy.contains("hunter"))
        let settings = try #require(lastGood.load(options)?.loaded(with: [:]).loaded.settings)
        #expect(settings.destinations.map(\.name) == ["a", "b"])
        #expect(settings.destinations.allSatisfy { $0.sync.auth != nil && $0.sync.auth?.refreshToken == nil })
    }

    @Test("drop-ins belong to it, and one that was removed does not")
    func dropIns() throws {
        try write("[tracking]\ninterval_seconds = 11\n")
        try write("[tracking]\ninterval_seconds = 21\n", to: "beekond.d/10-a.toml")
        try write("[tracking]\ninterval_seconds = 22\n", to: "beekond.d/20-b.toml")
        try write("[tracking]\ninterval_seconds = 99\n", to: "beekond.d/30-c.toml.off")
        lastGood.keep(options)
        #expect(interval == 22)
        try write("broken", to: "beekond.d/20-b.toml")
        #expect(interval == 22)
        unlink(directory.file("etc/beekond.d/20-b.toml"))
        lastGood.keep(options)
        #expect(interval == 21)
        unlink(directory.file("etc/beekond.d/10-a.toml"))
        unlink(directory.file("etc/beekond.d/30-c.toml.off"))
        rmdir(directory.file("etc/beekond.d"))
        lastGood.keep(options)
        #expect(interval == 11)
    }

    @Test("a default file that is missing means all defaults, then as now")
    func missing() throws {
        lastGood.keep(options)
        #expect(lastGood.load(options)?.loaded(with: [:]).loaded.settings == Settings())
    }

    @Test("a copy that is damaged is none")
    func damaged() throws {
        try write("[tracking]\ninterval_seconds = 11\n")
        lastGood.keep(options)
        try directory.write("state/last-good.toml", Array("[tracking\n".utf8))
        #expect(interval == nil)
    }

    @Test("nothing is written when nothing has changed, and only the owner may read")
    func quiet() throws {
        try write("[tracking]\ninterval_seconds = 11\n")
        lastGood.keep(options)
        var before = stat()
        #expect(stat(directory.file("state/last-good.toml"), &before) == 0)
        lastGood.keep(options)
        var after = stat()
        #expect(stat(directory.file("state/last-good.toml"), &after) == 0)
        #expect(before.st_ino == after.st_ino)
        #expect(after.st_mode & 0o077 == 0)
    }

    @Test("secrets in files of their own are found where they were", arguments: [false, true])
    func secretFiles(isAbsolute: Bool) throws {
        let name = isAbsolute ? directory.file("etc/key") : "key"
        try directory.write("etc/key", Array("s3cret\n".utf8))
        try write(
            """
            [sync]
            url = "https://api.example.com/"
            [sync.headers]
            X-Api-Key = { file = "\(name)" }
            """)
        lastGood.keep(options)
        try write("[sync\n")
        let places = SecretPlaces(configurationRoots: [directory.file("etc")])
        let headers = lastGood.load(options, places: places)?.loaded(with: [:]).loaded.settings.sync?.headers
        #expect(headers?.map(\.value.text) == ["s3cret"])
    }
}
