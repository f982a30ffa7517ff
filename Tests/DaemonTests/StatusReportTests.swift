import Base
import GPSD
import Testing
import Tracking
import Upload

@testable import Daemon

@Suite("what GetStatus says is wrong")
struct StatusReportTests {
    private static func words(
        _ change: (inout ReaderSnapshot, inout UploaderSnapshot) -> Void, files: Bool = false,
        configuration: Bool = false
    ) -> [String] {
        var (reader, uploader) = (ReaderSnapshot(), UploaderSnapshot())
        change(&reader, &uploader)
        return StatusReport.degraded(
            reader, uploader, hasDamagedFiles: files, isConfigurationDegraded: configuration,
            now: instant(10_000))
    }

    @Test("each in a word, and nothing when all is well")
    func words() {
        #expect(Self.words({ _, _ in }) == [])
        #expect(Self.words({ reader, _ in reader.storageError = "disk" }) == ["storage"])
        #expect(Self.words({ _, uploader in uploader.storageError = "disk" }) == ["storage"])
        #expect(Self.words({ reader, _ in reader.lostAt = instant(6500) }) == ["loss"])
        #expect(Self.words({ reader, _ in reader.lostAt = instant(6300) }) == [])
        #expect(Self.words({ _, _ in }, files: true, configuration: true) == ["files", "config"])
        #expect(Self.words({ _, uploader in uploader.isClockSuspected = true }) == ["clock"])
        #expect(Self.words({ _, uploader in uploader.lastError = "503" }) == ["sync"])
        #expect(
            Self.words({ _, uploader in (uploader.lastError, uploader.failure) = ("401", .auth) }) == ["auth"]
        )
    }

    @Test(
        "a receiver without a fix matters while tracking",
        arguments: [
            (.disconnected, true), (.noDevice, true), (.noFix, true), (.stale, true), (.released, false),
            (.unsettled, false), (.ok, false),
        ] as [(SourceHealth, Bool)])
    func source(health: SourceHealth, isBad: Bool) {
        for state in [ReaderSnapshot.State.idle, .tracking, .stopped] {
            let words = Self.words({ reader, _ in (reader.health, reader.state) = (health, state) })
            #expect(words == (isBad && state == .tracking ? ["source"] : []))
        }
    }
}
