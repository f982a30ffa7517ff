import Base
import SQLite
import Tracking

/// What the tables say, as text, so that two databases can be compared.
enum Contents {
    static func location(
        ts: Int64, seq: Int64, id: String, odometer: Int64, isUploaded: Bool, levels: String
    ) -> String {
        "location \(ts) \(seq) \(id) \(odometer) \(isUploaded ? 1 : 0) \(levels)"
    }

    static func rejected(seq: Int64, id: String, levels: String) -> String {
        "rejected \(seq) \(id) \(levels)"
    }

    /// What the vehicle said of itself: the ignition, and the battery as a number, of `LocationRow`; a dash for what is unknown.
    static func levels(ignition: Bool?, battery: Battery?) -> String {
        let states: [Battery.State] = [.unknown, .unplugged, .charging, .full]
        let code = battery.map { $0.percent << 3 | (states.firstIndex(of: $0.state) ?? 0) }
        return "\(ignition.map { $0 ? "1" : "0" } ?? "-") \(code.map { "\($0)" } ?? "-")"
    }

    static func batch(id: String, body: String) -> String { "batch \(id) \(body)" }

    /// - Parameter ts: the largest there is while the time is not known.
    static func event(ts: Int64, id: String, uploaded: Int, isMember: Bool) -> String {
        "event \(ts) \(id) \(uploaded) \(isMember ? 1 : 0)"
    }

    static func rejectedEvent(id: String) -> String { "rejected event \(id)" }

    static func counter(_ name: String, _ value: Int) -> String { "counter \(name) \(value)" }

    static func state(key: Int64, isInside: Bool) -> String { "state \(key) \(isInside ? 1 : 0)" }

    static func command(id: String, digest: UInt8, isDone: Bool, error: String, isSent: Bool) -> String {
        "command \(id) \(digest) \(isDone ? 1 : 0) \(error) \(isSent ? 1 : 0)"
    }

    /// - Parameter levels: of a location or a dead letter.
    private static func lines(_ levels: String, besides others: String) -> String {
        """
        SELECT group_concat(line, char(10)) FROM (
            SELECT 1 AS part, ts, seq, 'location ' || ts || ' ' || seq || ' ' || hex(id) || ' ' ||
                CAST(odometer AS INTEGER) || ' ' || uploaded || ' ' || \(levels) AS line FROM locations
            UNION ALL SELECT 2, 0, seq, 'rejected ' || seq || ' ' || hex(id) || ' ' || \(levels) FROM rejected
            UNION ALL SELECT 3, 0, key, 'batch ' || hex(id) || ' ' || hex(body) FROM batches
            \(others)
            UNION ALL SELECT 7, 0, name, 'counter ' || name || ' ' || value FROM counters
                WHERE name IN ('dropped_unsent', 'expired', 'pruned')
            ORDER BY 1, 2, 3)
        """
    }

    private static func crossings(of table: String, isMember: String) -> String {
        """
        UNION ALL SELECT 4, coalesce(ts, \(Int64.max)), hex(id),
            'event ' || coalesce(ts, \(Int64.max)) || ' ' || hex(id) || ' ' || uploaded || ' ' ||
            (\(isMember)) FROM \(table)
        UNION ALL SELECT 5, 0, hex(id), 'rejected event ' || hex(id) FROM rejected_events
        UNION ALL SELECT 6, 0, key, 'state ' || key || ' ' || is_inside FROM geofence_states
        """
    }

    private static let commands = """
        UNION ALL SELECT 8, seq, id, 'command ' || id || ' ' || unicode(CAST(digest AS TEXT)) || ' ' ||
            (done_at IS NOT NULL) || ' ' || coalesce(error, '') || ' ' || is_sent FROM commands
        """

    /// The ranges of the events of batches, as (batch, first, last).
    private static let eventRanges = """
        (SELECT b.key AS batch, CAST(substr(r.value, 1, instr(r.value, ' ')) AS INTEGER) AS first,
            CAST(substr(r.value, instr(r.value, ' ')) AS INTEGER) AS last FROM batches b,
            json_each('["' || replace(b.events, ';', '","') || '"]') r WHERE b.events IS NOT NULL)
        """

    /// The runs of the locations of batches, as (batch, first, last).
    private static let runs = """
        (SELECT key AS batch, first_seq AS first, last_seq AS last FROM batches
            WHERE runs IS NULL AND first_seq IS NOT NULL
            UNION ALL SELECT b.key, json_extract(r.value, '$[1]'), json_extract(r.value, '$[3]') FROM batches b,
            json_each('[[' || replace(replace(b.runs, ' ', ','), ';', '],[') || ']]') r WHERE b.runs IS NOT NULL)
        """

    static func text(_ db: Connection) throws -> String {
        func has(_ table: String) throws -> Bool {
            try db.value("SELECT 1 FROM sqlite_schema WHERE name = '\(table)'") != nil
        }
        var others = ""
        if try has("events") {
            let isMember = "EXISTS (SELECT 1 FROM \(eventRanges) WHERE seq BETWEEN first AND last)"
            others = crossings(of: "events", isMember: isMember)
        } else if try has("geofence_events") {
            others = crossings(of: "geofence_events", isMember: "batch IS NOT NULL")
        }
        if try has("commands") { others += "\n" + commands }
        // Rows from before there were such columns say nothing.
        let hasLevels =
            try db.value("SELECT 1 FROM pragma_table_info('locations') WHERE name = 'battery'") != nil
        let levels = hasLevels ? "coalesce(ignition, '-') || ' ' || coalesce(battery, '-')" : "'- -'"
        return try db.value(lines(levels, besides: others)) ?? ""
    }

    /// Rules that no table alone can break; each query counts what breaks it.
    private static let rules: [(rule: String, count: String)] = [
        (
            "an id is there twice",
            """
            SELECT COUNT(*) - COUNT(DISTINCT id) FROM
                (SELECT id FROM locations UNION ALL SELECT id FROM rejected UNION ALL SELECT id FROM events
                UNION ALL SELECT id FROM rejected_events)
            """
        ),
        (
            "a row has no session",
            "SELECT COUNT(*) FROM locations WHERE session NOT IN (SELECT key FROM sessions)"
        ),
        (
            "a row has no extras",
            "SELECT COUNT(*) FROM locations WHERE extras > 0 AND extras NOT IN (SELECT version FROM extras)"
        ),
        (
            "a batch has lost rows",
            """
            SELECT COUNT(*) FROM \(runs) m JOIN batches b ON b.key = m.batch
                WHERE m.last - m.first + 1 <> (SELECT COUNT(*) FROM locations l WHERE l.seq BETWEEN m.first AND m.last
                AND (ts, seq) >= (b.first_ts, b.first_seq) AND (ts, seq) <= (b.last_ts, b.last_seq)
                AND l.session = b.session AND l.extras = b.extras AND uploaded = 0)
            """
        ),
        (
            "a batch has lost events",
            """
            SELECT COUNT(*) FROM \(eventRanges)
                WHERE last - first + 1 <> (SELECT COUNT(*) FROM events WHERE seq BETWEEN first AND last AND uploaded = 0)
            """
        ),
        (
            "an event has no session",
            "SELECT COUNT(*) FROM events WHERE session NOT IN (SELECT key FROM sessions)"
        ),
    ]

    /// What is wrong with the database; nil when it is sound.
    static func fault(_ db: Connection) throws -> String? {
        let integrity = try db.value("PRAGMA integrity_check") ?? "no answer"
        guard integrity == "ok" else { return "integrity_check: " + integrity }
        for (rule, count) in rules where try db.value(count) != "0" { return rule }
        return nil
    }
}

extension UUIDv7 {
    /// As SQLite's hex() spells it.
    var hex: String { description.filter { $0 != "-" }.uppercased() }
}

/// As SQLite's hex() spells it.
func hex(_ bytes: [UInt8]) -> String {
    let digits = Array("0123456789ABCDEF".utf8)
    return String(decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
}
