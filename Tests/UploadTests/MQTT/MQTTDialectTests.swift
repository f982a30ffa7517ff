import Base
import DaemonConfiguration
import Testing

@testable import Upload

@Suite("the version of MQTT that is spoken")
struct MQTTDialectTests {
    private static func connack(_ code: UInt8) -> MQTTOutcome {
        .answer(MQTTAnswer(source: .connack, code: code, version: .v5))
    }
    private static let failure = MQTTOutcome.failure(TransportFailure(kind: .network, message: "gone"))

    @Test(
        "3.1.1 is tried where 5 is refused, and remembered where it is accepted",
        arguments: [
            (connack(1), false, 86_400), (connack(132), false, 86_400), (failure, true, 3600),
            (failure, false, nil), (connack(135), false, nil), (connack(136), true, nil),
            (.answer(MQTTAnswer(source: .disconnect, code: 132, version: .v5)), false, nil),
        ] as [(MQTTOutcome, Bool, Double?)])
    func falls(outcome: MQTTOutcome, wasHungUp: Bool, memory: Double?) {
        var dialect = MQTTDialect()
        #expect(dialect.version(now: Rig.instant(0)) == .v5)
        #expect(dialect.refused(outcome, by: .v5, wasHungUp: wasHungUp) == (memory != nil))
        #expect(dialect.version(now: Rig.instant(0)) == (memory == nil ? .v5 : .v311))
        guard let memory else { return }
        dialect.accepted(.v311, now: Rig.instant(0))
        #expect(dialect.version(now: Rig.instant(memory - 1)) == .v311)
        #expect(dialect.version(now: Rig.instant(memory)) == .v5, "the broker may have been replaced")
    }

    @Test("a trial ends with its publication")
    func settles() {
        var dialect = MQTTDialect()
        _ = dialect.refused(Self.failure, by: .v5, wasHungUp: true)
        dialect.settle()
        #expect(dialect.version(now: Rig.instant(0)) == .v5)
        dialect.accepted(.v311, now: Rig.instant(0))
        #expect(dialect.version(now: Rig.instant(0)) == .v5)
    }

    @Test("where 3.1.1 is refused as well, nothing is remembered")
    func refusesBoth() {
        var dialect = MQTTDialect()
        #expect(dialect.refused(Self.failure, by: .v5, wasHungUp: true) == true)
        #expect(dialect.refused(Self.failure, by: .v311, wasHungUp: true) == false)
        #expect(dialect.version(now: Rig.instant(0)) == .v5)
    }

    @Test("two silences in a row, and 3.1.1 is tried once, on a connection of its own")
    func silence() {
        var dialect = MQTTDialect()
        dialect.silent(.v5)
        #expect(dialect.version(now: Rig.instant(0)) == .v5)
        dialect.settle()
        dialect.silent(.v5)
        dialect.settle()
        #expect(dialect.version(now: Rig.instant(0)) == .v311)
        var accepting = dialect
        accepting.accepted(.v311, now: Rig.instant(0))
        #expect(accepting.version(now: Rig.instant(3599)) == .v311)
        #expect(accepting.version(now: Rig.instant(3600)) == .v5)
        dialect.silent(.v311)
        #expect(dialect.version(now: Rig.instant(0)) == .v5, "that proves nothing")
        dialect.silent(.v5)
        #expect(dialect.version(now: Rig.instant(0)) == .v5, "they begin anew")
        _ = dialect.refused(Self.connack(136), by: .v5, wasHungUp: false)
        dialect.silent(.v5)
        #expect(dialect.version(now: Rig.instant(0)) == .v5, "it has spoken in between")
    }

    @Test("nothing is guessed where 5 was ever accepted; what the broker says counts all the same")
    func knowsNew() {
        var heard = MQTTDialect()
        heard.accepted(.v5, now: Rig.instant(0))
        for var dialect in [heard, MQTTDialect(knowsNew: true)] {
            #expect(dialect.knowsNew)
            for _ in 0..<5 { dialect.silent(.v5) }
            #expect(dialect.version(now: Rig.instant(0)) == .v5)
            #expect(dialect.refused(Self.failure, by: .v5, wasHungUp: true) == false)
            #expect(dialect.refused(Self.connack(1), by: .v5, wasHungUp: false) == true)
        }
    }

    @Test("what the settings say is spoken, whatever the broker says")
    func wanted() {
        for (wanted, version) in [(Settings.MQTTVersion.five, MQTTVersion.v5), (.old, .v311)] {
            var dialect = MQTTDialect(wanted: wanted)
            for _ in 0..<3 { dialect.silent(version) }
            #expect(dialect.refused(Self.connack(1), by: version, wasHungUp: false) == false)
            #expect(dialect.refused(Self.failure, by: version, wasHungUp: true) == false)
            #expect(dialect.version(now: Rig.instant(0)) == version)
        }
    }

    @Test("later connections do not prolong the memory")
    func bounded() {
        var dialect = MQTTDialect()
        _ = dialect.refused(Self.connack(1), by: .v5, wasHungUp: false)
        dialect.accepted(.v311, now: Rig.instant(0))
        dialect.accepted(.v311, now: Rig.instant(80_000))
        #expect(dialect.version(now: Rig.instant(86_400)) == .v5)
    }
}
