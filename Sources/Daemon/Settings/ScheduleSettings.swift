internal import Base
internal import DaemonConfiguration
internal import Linux
internal import Tracking

extension Settings.Tracking {
    /// What is wrong with a setting, and what to write instead.
    struct Flaw: Error, Equatable {
        var key: String
        var message: String
    }

    /// The schedule and the zone it goes by; nil without one.
    func plan(_ zones: ZoneInfo = ZoneInfo()) throws(Flaw) -> (
        schedule: TrackingSchedule, zone: TimeZoneRules
    )? {
        // A zone that is misspelt is a mistake even before there is a schedule.
        let zone = schedule.isEmpty && timeZone.isEmpty ? TimeZoneRules.utc : try rules(zones)
        guard !schedule.isEmpty else { return nil }
        do {
            return (try TrackingSchedule(schedule), zone)
        } catch {
            throw Flaw(key: "tracking.schedule", message: "\(error)")
        }
    }

    private func rules(_ zones: ZoneInfo) throws(Flaw) -> TimeZoneRules {
        let bytes: [UInt8]?
        do {
            bytes = try timeZone.isEmpty ? zones.systemContent() : zones.content(of: timeZone)
        } catch {
            let advice =
                "write a name of /usr/share/zoneinfo, such as Europe/Berlin, or \"\" for the system's"
            throw Flaw(key: "tracking.time_zone", message: "cannot be used (\(error)); \(advice)")
        }
        guard let bytes else { return .utc }
        do {
            return try TimeZoneRules(tzif: bytes)
        } catch {
            throw Flaw(key: "tracking.time_zone", message: "cannot be used: \(error)")
        }
    }
}
