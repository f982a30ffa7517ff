import Base
import Tracking

@testable import Envelope

extension Subject {
    /// A template of the configuration: a fault with a place in it, or JSON for each record.
    static let template = Subject(name: "template") { input in
        guard let text = String(validating: input, as: UTF8.self) else { return }
        let records = [record(Double(input.count)), record(.greatestFiniteMagnitude), record(.infinity)]
        do throws(TemplateFault) {
            let template = try Template(text, for: .geofence)
            for extras in TemplateShape.ExtrasPlace.allCases { send(records, template, extras) }
        } catch {
            let lines = text.utf8.split(separator: 0x0A, omittingEmptySubsequences: false)
            precondition((1...lines.count).contains(error.line))
            precondition((1...lines[error.line - 1].count + 1).contains(error.column))
            precondition(!error.reason.isEmpty && !error.advice.isEmpty)
        }
    }

    private static func record(_ number: Double) -> TemplateRecord? {
        guard let coordinate = Coordinate(latitude: -90, longitude: 1e-9),
            let id = UUIDv7(bytes: [UInt8](0..<16))
        else { return nil }
        let crossing = Crossing(
            geofence: "\"\\\u{0}\u{1F}</x>%>😀", kind: .enter, time: Timestamp(milliseconds: .min))
        let fix = Fix(
            time: Timestamp(milliseconds: .max), mode: 3, coordinate: coordinate, accuracy: number,
            speed: -number,
            bearing: 1 / number, altitude: number)
        return TemplateRecord(
            GeofenceEvent(id: id, session: id, crossing: crossing), at: fix, odometer: number)
    }

    /// What goes out must be JSON to the other reader, too.
    private static func send(
        _ records: [TemplateRecord?], _ template: Template, _ extras: TemplateShape.ExtrasPlace
    ) {
        guard let id = UUIDv7(bytes: [UInt8](0..<16)), let params = try? BodyFields(["k\"": .text("\n")]),
            let shape = try? TemplateShape(
                params: params, extras: extras, batchSize: 1, location: template, geofence: template),
            var format = TemplateFormat(shape: shape, deviceID: "\"\\", installID: "\u{1}")
        else { return }
        for record in records.compactMap(\.self) {
            let request = format.request(
                batch: id, session: id, extras: "{\"a\":{\"b\":[]},\"extras\":\"<%= speed %>\"}",
                records: [record])
            precondition(request.map { JSONReader.read($0.body) != nil } ?? false)
        }
    }
}
