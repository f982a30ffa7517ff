internal import Base
internal import FoundationEssentials
internal import Tracking

/// A trip under way as text: arrays of numbers, because its row is written again and again.
extension StoredTrip {
    private struct Line: Codable {
        var boot: String?
        /// Whether it has been told as started.
        var told: Bool
        /// How often the odometer had been set.
        var set: Int
        /// Start, last and moved, and the beginning of a stay; each time, latitude, longitude, odometer, top speed, idle.
        var marks: [[Double?]]
    }

    /// Longer text is not ours.
    private static let limit = 4096

    var text: String? {
        let marks = [open.start, open.last, open.moved] + (open.stay.map { [$0] } ?? [])
        let line = Line(
            boot: boot?.text, told: open.hasStarted, set: settings, marks: marks.map(Self.numbers))
        let encoder = JSONEncoder()
        // The same each time: a page that does not change is not written.
        encoder.outputFormatting = .sortedKeys
        return (try? encoder.encode(line)).map { String(decoding: $0, as: UTF8.self) }
    }

    /// nil for text that no version of beekond writes.
    init?(text: String) {
        guard text.utf8.count <= Self.limit,
            let line = try? JSONDecoder().decode(Line.self, from: Data(text.utf8))
        else { return nil }
        let marks = line.marks.compactMap(Self.mark)
        guard marks.count == line.marks.count, (3...4).contains(marks.count) else { return nil }
        self.init(
            Trips.Open(
                start: marks[0], hasStarted: line.told, last: marks[1], moved: marks[2],
                stay: marks.count > 3 ? marks[3] : nil),
            boot: line.boot.flatMap { BootID($0) }, settings: line.set)
    }

    private static func numbers(_ mark: Trips.Mark) -> [Double?] {
        [
            Double(mark.time.milliseconds), mark.place?.latitude, mark.place?.longitude, mark.odometer,
            mark.topSpeed, mark.idle,
        ]
    }

    private static func mark(_ numbers: [Double?]) -> Trips.Mark? {
        guard numbers.count == 6, let time = numbers[0].flatMap({ Int64(exactly: $0) }),
            Timestamp.isDate(time), let odometer = numbers[3], let idle = numbers[5],
            idle >= 0, numbers[4] ?? 0 >= 0
        else { return nil }
        let place = numbers[1].flatMap { latitude in
            numbers[2].flatMap { Coordinate(latitude: latitude, longitude: $0) }
        }
        return Trips.Mark(
            time: Timestamp(milliseconds: time), place: place, odometer: odometer, topSpeed: numbers[4],
            idle: idle)
    }
}
