import Base
import DaemonConfiguration
import Storage
import Support
import Testing
import Tracking

@testable import Daemon

@Suite("ignition and external power")
struct IgnitionKeeperTests {
    private let workshop: Workshop

    init() throws { workshop = try Workshop() }

    private func boot(_ digit: Character) throws -> BootID {
        try #require(BootID(String(repeating: digit, count: 32)))
    }

    private func settings(_ change: (inout Settings.Vehicle) -> Void = { _ in }) -> Settings.Vehicle {
        var settings = Settings.Vehicle()
        settings.ignition = .manual
        change(&settings)
        return settings
    }

    private func keeper(_ settings: Settings.Vehicle, boot: Character = "a") throws -> IgnitionKeeper {
        try #require(IgnitionKeeper(hub: workshop.hub, settings: settings, boot: try self.boot(boot)))
    }

    @Test("nothing configured is nothing to keep") func nothing() throws {
        let none = Settings.Vehicle()
        #expect(IgnitionKeeper(hub: workshop.hub, settings: none, boot: try boot("a")) == nil)
    }

    @Test("an event that was stored before the end, and not noted any more, is known") func unnoted() throws {
        let now = instant(1)
        let keeper = try keeper(settings())
        #expect(keeper.resume(lastStored: nil, tracking: .off, now: now) { _ in nil }.isEmpty)
        _ = try keeper.set(true, now: now, anchor: nil, tracking: .off)
        try keeper.keep(now: now)
        // Switched off, stored, and then killed.
        let event = VehicleEvent(
            id: try #require(UUIDv7("0190c1a4-0000-7000-8000-000000000001")),
            session: try #require(UUIDv7("0190c1a4-0000-7000-8000-000000000002")),
            happening: .ignitionOff, time: .known(start, isEstimated: false))
        let next = try self.keeper(settings())
        #expect(
            next.resume(lastStored: nil, tracking: .off, now: now) { $0 == .ignition ? event : nil }.isEmpty)
        #expect(next.report.isOn == false)
        #expect(try next.set(false, now: now, anchor: nil, tracking: .off).isEmpty)
        // Noted: a later event of the ledger's does not count twice.
        try next.keep(now: now)
        let last = try self.keeper(settings())
        _ = last.resume(lastStored: nil, tracking: .off, now: now) { _ in event }
        #expect(last.report.isOn == false)
    }

    @Test("another boot, another source") func otherBoot() throws {
        let now = instant(1)
        let first = try keeper(settings())
        _ = first.resume(lastStored: nil, tracking: .off, now: now) { _ in nil }
        _ = try first.set(true, now: now, anchor: nil, tracking: .off)
        try first.keep(now: now)
        // Another source knows nothing of what this one knew.
        let supply = try keeper(settings { ($0.ignition, $0.supply) = (.powerSupply, "ACAD") }, boot: "b")
        #expect(supply.resume(lastStored: start, tracking: .off, now: now) { _ in nil }.isEmpty)
        let again = try keeper(settings(), boot: "b")
        #expect(
            again.resume(lastStored: start, tracking: .off, now: now) { _ in nil }
                == [.ignition(.record(isOn: false, .known(start, isEstimated: true)))])
        #expect(again.report.isOn == nil)
    }

    @Test("only thresholds and rules are taken up without a new keeper") func configuring() throws {
        let keeper = try keeper(settings())
        #expect(keeper.configure(settings { $0.ignitionOffDelaySeconds = 5 }))
        #expect(keeper.configure(settings { $0.onIgnition = .track }))
        #expect(!keeper.configure(settings { $0.supply = "ACAD" }))
        #expect(!keeper.configure(settings { $0.ignition = .none }))
        #expect(throws: CommandFailure.self) { try IgnitionKeeper.check(Settings.Vehicle()) }
    }
}
