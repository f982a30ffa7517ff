import ControlProtocol
import ControlTool
import Glibc
import Testing

@Suite("failures of the tool")
struct FailureTests {
    @Test(
        "each refusal has its exit code and says what to do",
        arguments: [
            (ControlError.storageFailure(reason: "full"), 74, "disk"),
            (.permissionDenied, 77, "beekon-admin"), (.denied(reason: "only root may"), 77, "only root may"),
            (.rateLimited(retryAfterSeconds: 7), 75, "7 s"), (.invalidTime(value: "x"), 64, "ISO-8601"),
            (.invalidConfiguration(key: "a.b", reason: "x"), 78, "a.b"),
            (.locationUnavailable(reason: "x"), 69, "status"), (.tooMany(limit: 9), 65, "narrow"),
            (.methodNotImplemented("a.B"), 76, "upgrade"), (.methodNotFound("a.B"), 76, "upgrade"),
            (.interfaceNotFound("a"), 76, "upgrade"), (.invalidParameter("p"), 76, "\"p\""),
            (.invalidGeofence(id: "home", reason: "x"), 65, "home"), (.expectedMore, 76, "version"),
            (.other(name: "a.\u{1B}B", parameters: [:]), 70, "journalctl"),
        ] as [(ControlError, Int32, String)])
    func refusals(error: ControlError, code: Int32, hint: String) throws {
        let failure = try #require(Failure(error))
        #expect(failure.exitCode == code)
        #expect(failure.message.contains(hint))
        #expect(!failure.message.contains("\u{1B}"))
    }

    @Test("an unreachable daemon keeps its message and exit code")
    func unreachable() throws {
        do {
            _ = try ControlClient(path: "/nonexistent/\u{1B}.sock")
            Issue.record("connected to nothing")
        } catch {
            let failure = try #require(Failure(error))
            #expect(failure.exitCode == 69)
            #expect(failure.message.contains("/nonexistent/\\u{1b}.sock"))
        }
        #expect(Failure(CancellationError()) == nil)
    }

    @Test("the outcome of an upload")
    func outcomes() {
        let codes = [
            "drained": 0, "nothing_pending": 0, "transient": 75, "auth": 77, "rejected": 65, "permanent": 76,
            "disabled": 78, "new": 70,
        ]
        for (outcome, code) in codes {
            #expect(SyncOutcome.exitCode(outcome) == Int32(code))
            let text = SyncOutcome.text(.init(outcome: outcome, uploaded: 1234, pending: 5))
            #expect(!text.isEmpty)
        }
        #expect(
            SyncOutcome.text(.init(outcome: "drained", uploaded: 1234, pending: 0))
                == "1,234 uploaded, nothing pending")
    }

    @Test("what a server said is told with the outcome, and whether it said anything at all")
    func said() {
        func text(
            _ outcome: String, _ status: Int? = nil, _ reason: String? = nil, rejected: Int? = nil,
            error: String? = nil
        ) -> String {
            SyncOutcome.text(
                .init(
                    outcome: outcome, uploaded: 7, pending: 2, rejected: rejected, httpStatus: status,
                    error: error, reason: reason), url: "https://h.example/in")
        }
        #expect(
            text("transient", 503, "back at \u{1B}noon", error: "the server answers 503")
                == "the server answered 503: back at \\u{1b}noon; 7 uploaded, 2 pending: beekond keeps trying"
        )
        #expect(
            text("transient", error: "Couldn't connect to server")
                == "the server cannot be reached at the moment (Couldn't connect to server); 7 uploaded, 2 pending: "
                + "beekond keeps trying")
        #expect(text("transient", error: "storage: disk full").hasPrefix("storage: disk full; "))
        #expect(
            text("permanent", 404, "no such tenant")
                == "the server answered 404 at https://h.example/in, which retrying will not change: no such tenant; "
                + "7 uploaded, 2 pending: beekonctl status says what to do")
        #expect(
            text("rejected", 422, "no plate", rejected: 20)
                == "the server has refused 20 locations for good (422: no plate); 7 uploaded, 2 pending: beekonctl rejected "
                + "list shows them")
        #expect(
            text("rejected", 400) == "the server rejects the data (400); 7 uploaded, 2 pending: see its log")
        #expect(text("auth", 401, "expired").hasPrefix("the server refuses our credentials (401: expired); "))
    }

    @Test("a full disk is an error, not a short file")
    func fullDisk() throws {
        let failure = #expect(throws: Failure.self) {
            var output = try Output(path: "/dev/full")
            try output.line("one line")
            try output.finish()
        }
        #expect(failure?.exitCode == 74)
        #expect(failure?.message.contains("No space left") == true)
    }

    @Test("a file is complete and private")
    func file() throws {
        let path = "/tmp/beekond-output-\(getpid())"
        defer { unlink(path) }
        var output = try Output(path: path)
        let line = String(repeating: "x", count: 999)
        for _ in 0..<1000 { try output.line(line) }
        try output.finish()
        var entry = stat()
        #expect(stat(path, &entry) == 0)
        #expect(entry.st_size == 1_000_000)
        #expect(entry.st_mode & 0o777 == 0o600)
        let failure = #expect(throws: Failure.self) { _ = try Output(path: "/nonexistent/file") }
        #expect(failure?.exitCode == 73)
    }
}
