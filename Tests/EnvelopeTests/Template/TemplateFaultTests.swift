import Support
import Testing

@testable import Envelope

@Suite("templates that cannot be used")
struct TemplateFaultTests {
    private static let rows = BrokenTemplates.all.map(Row.init)

    struct Row: Sendable, CustomTestStringConvertible {
        let template: BrokenTemplates.Marked
        var testDescription: String { String(template.marked.prefix(60)) }
    }

    @Test("each is refused for its reason, at its place", arguments: rows)
    func broken(row: Row) throws {
        let row = row.template
        try #require(row.marked.unicodeScalars.count { $0 == "‸" } == 1)
        let fault = try #require(throws: TemplateFault.self) { try Template(row.text, for: .location) }
        let place = row.place
        #expect(fault.reason.contains(row.reason), "\(fault)")
        #expect(fault.line == place.line && fault.column == place.column, "\(fault)")
        #expect(!fault.advice.isEmpty)
        // One line for the log, whatever the template is.
        #expect(fault.description.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control })
        #expect(fault.description.utf8.count < 400, "\(fault)")
    }

    @Test("there are two hundred of them")
    func count() {
        #expect(Self.rows.count >= 200)
        #expect(Set(Self.rows.map(\.template.marked)).count == Self.rows.count)
    }

    @Test(
        "a tag that does not exist gets the one that was meant",
        arguments: [
            ("lattitude", "<%= latitude %>"), ("longtitude", "<%= longitude %>"),
            ("Latitude", "<%= latitude %>"),
            ("isMoving", "<%= is_moving %>"), ("is-moving", nil), ("ismoving", "<%= is_moving %>"),
            ("bearing", "<%= heading %>"), ("course", "<%= heading %>"), ("id", "<%= uuid %>"),
            ("coords.latitude", "<%= latitude %>"), ("coords.lat", "<%= latitude %>"),
            ("location.timestamp", "<%= timestamp %>"), ("battery", "<%= battery.level %>"),
            ("battery_level", "<%= battery.level %>"), ("battery.isCharging", "<%= battery.is_charging %>"),
            ("activityType", "<%= activity.type %>"), ("activity", "<%= activity.type %>"),
            ("deviceId", "<%= device_id %>"), ("device_uid", "<%= device_id %>"),
            ("speed_kmh", "<%= speed.kmh %>"),
            ("coords.mph", "<%= speed.mph %>"), ("kph", "<%= speed.kmh %>"),
            ("epoch", "<%= timestamp.seconds %>"),
            ("timestmap", "<%= timestamp %>"),
            ("odometr", "<%= odometer %>"), ("is_mock", "<%= mock %>"),
            ("ellipsoidal_altitude", "<%= altitude %>"),
        ] as [(String, String?)])
    func advice(name: String, expected: String?) throws {
        let fault = try #require(throws: TemplateFault.self) {
            try Template("{\"a\": \"<%= \(name) %>\"}", for: .location)
        }
        if let expected {
            #expect(fault.advice == "write " + expected)
        } else {
            #expect(!fault.advice.hasPrefix("write"))
        }
    }

    @Test(
        "values of the guide that nobody here knows are named as such",
        arguments: ["altitude_accuracy", "coords.speed_accuracy", "timestampMeta", "age"])
    func missing(name: String) throws {
        let fault = try #require(throws: TemplateFault.self) {
            try Template("{\"a\": <%= \(name) %>}", for: .geofence)
        }
        #expect(fault.advice.hasPrefix("beekond does not know it: "))
    }

    @Test(
        "other mistakes are told what to write",
        arguments: [
            (#"{"a": 1<%= latitude %>}"#, #"both in one string, as in "1<%= latitude %>""#),
            (#"{"a": <%= timestamp %>}"#, #"write "<%= timestamp %>""#),
            (#"{lat: 1}"#, #"write "lat""#),
            (#"{"a": True}"#, "write true"),
            (#"{"a": latitude}"#, "write <%= latitude %>"),
            (#"{"a": +1}"#, "write 1"),
            (#"{"a": .5}"#, "write 0.5"),
            (#"{"a": 007}"#, "write 7"),
            (#"{"a": 1.}"#, "write 1"),
            (#"{"a": 10m}"#, #"write "10m" for a text"#),
            (#"{"a": 'x'}"#, "quotation marks"),
            (#"{"a": “x”}"#, "quotation marks"),
            (#"{"a": /* x */ 1}"#, "remove the comment"),
            (#"{"a": < %= latitude %>}"#, "without spaces"),
            ("{\"a\": \"x\ty\"}", "\\t"),
            (#"{"a": "<%= geofence.action %>"}"#, "geofence_template"),
            (#"{"a": {"b": 1"#, "write }"),
            (#"{"a": [1}"#, "with ]"),
        ])
    func advice(template: String, expected: String) throws {
        let fault = try #require(throws: TemplateFault.self) { try Template(template, for: .location) }
        #expect(fault.advice.contains(expected), "\(fault)")
    }

    @Test("a message reads as one sentence")
    func sentence() throws {
        let fault = try #require(throws: TemplateFault.self) {
            try Template("{\n  \"lat\": <%= lattitude %>\n}", for: .location)
        }
        #expect(
            fault.description == "line 2, column 10: there is no tag lattitude; write <%= latitude %>")
    }
}
